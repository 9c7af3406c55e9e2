"""A batch of images without labels: which of them are fresh, which were met before, and which are there twice."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.data import SOURCES
from metagcd.data.contents import Places, contents, first_of_each, together
from metagcd.data.decode import Decoding
from metagcd.data.guess import source_for
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import Array, Images, Skipped, UnlabelledSet
from metagcd.workspace.catalogue import Catalogue
from metagcd.workspace.labelled import unlabelled_config

LABELLED = {
    "folder": "its sub-folders look like classes; their names are not read",
    "manifest": "it has a column of labels; it is not read",
    "arrays": "labels in it are not read",
    "parquet": "labels in it are not read",
}
"""What is said of a source that may have labels, by the kind that it looks like."""


Given = str | Path | UnlabelledSet | Images
"""Where images without labels come from."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Unsorted:
    """Images without labels, nothing being known of any."""

    source: str
    images: Images
    skipped: tuple[Skipped, ...] = ()
    warning: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Images without labels, and what tells one from another."""

    source: str
    images: Images
    contents: UInt8[Array, "n 16"]
    skipped: tuple[Skipped, ...] = ()
    warning: str = ""

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.contents)

    @property
    def name(self) -> bytes:
        """Return what names the batch by the contents of its images alone."""
        return together(self.contents)

    @property
    def paths(self) -> Places:
        """Return where the images lie."""
        return Places(self.images)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fresh:
    """Which images of a batch have to be looked at."""

    rows: Int[Array, " f"]
    """Those to be learned from: not met before, and each content once."""
    row_of: Int[Array, " n"]
    """For every image of the batch its place among `rows`; -1 where it was met before."""
    seen: Int[Array, " n"]
    """Number in the catalogue of the image met before; -1 where there is none."""


def read_batch(given: Given, decoding: Decoding, progress: Progress) -> Batch:
    """Read images and never a label, and what names their contents."""
    found = read_images(given, decoding, progress)
    return Batch(
        source=found.source,
        images=found.images,
        contents=contents(found.images),
        skipped=found.skipped,
        warning=found.warning,
    )


def read_images(given: Given, decoding: Decoding, progress: Progress) -> Unsorted:
    """Read images and never a label: a folder in any nesting, a list, a file, or images that are in memory."""
    if isinstance(given, UnlabelledSet):
        return Unsorted(source="images", images=given.images, skipped=given.skipped)
    if not isinstance(given, str | Path):
        return Unsorted(source="images", images=given)
    config = unlabelled_config(given, decoding)
    found = SOURCES.of(config).target(config, progress)
    if not isinstance(found, UnlabelledSet):
        raise InputError(f"{str(given)!r} cannot be read as images without labels.")
    return Unsorted(
        source=str(given),
        images=found.images,
        skipped=found.skipped,
        warning=warning_for(str(given)),
    )


def warning_for(path: str) -> str:
    """Return what to say of a path that may have labels; nothing of others."""
    try:
        kind = SOURCES.of(source_for(path)).name
    except InputError:
        return ""
    return f"{path}: {LABELLED[kind]}." if kind in LABELLED else ""


def fresh_of(batch: Batch, catalogue: Catalogue) -> Fresh:
    """Return which images of the batch were not met before, each content once."""
    seen = catalogue.seen(batch.contents)
    first = first_of_each(batch.contents)
    rows = np.flatnonzero((seen < 0) & (first == np.arange(len(first))))
    place = np.full(len(batch), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return Fresh(rows=rows, row_of=np.where(seen < 0, place[first], -1), seen=seen)


def by_content(batch: Batch, rows: Int[Array, " f"]) -> Int[Array, " f"]:
    """Return the order of these images that depends on their contents alone, neither on names nor on folders."""
    words = np.ascontiguousarray(batch.contents[rows]).view(">u8")
    return np.lexsort((words[:, 1], words[:, 0]))
