"""The labelled images that a workspace is fitted to: read, looked at, and brought to the encoder's size."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from metagcd.data import SOURCES, load
from metagcd.data.decode import Decoding
from metagcd.data.files import FileImages
from metagcd.data.guess import source_for
from metagcd.data.rows import Rows, origin, select
from metagcd.data.scan import Check
from metagcd.data.shards import ShardImages
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import Array, Dataset, Images, Skipped

FEWEST = 2
"""Fewest images of a class to learn from, and fewest classes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """Images to learn from, and images held out to tell how good and how sure decisions are."""

    source: str
    images: Images
    """Both parts, the held-out one last."""
    labels: Int[Array, " n"]
    learned: int
    """How many of them are learned from."""
    names: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    note: str = ""

    @property
    def train(self) -> Images:
        """Return what is learned from."""
        return select(self.images, np.arange(self.learned))

    @property
    def held_out(self) -> Images:
        """Return what is not."""
        return select(self.images, np.arange(self.learned, len(self.labels)))


def read_labelled(source: str | Path | Dataset, *, held_out: float, decoding: Decoding, progress: Progress) -> Labelled:
    """Read a folder of class folders, a table, a file, or a data set that is in memory."""
    if isinstance(source, Dataset):
        return _labelled("a data set", source)
    config = _config(str(source), held_out=held_out, decoding=decoding)
    return _labelled(str(source), load(config, progress))


def sized(labelled: Labelled, decoding: Decoding) -> Labelled:
    """Return the same images, decoded otherwise."""
    parent, rows = origin(labelled.images)
    if not isinstance(parent, FileImages | ShardImages):
        return labelled
    return replace(labelled, images=Rows(replace(parent, how=decoding), rows))


def unlabelled_config(path: str | Path, decoding: Decoding) -> Any:
    """Return the config of the source that reads images alone, whatever else is at the path."""
    kept = {field.name: getattr(decoding, field.name) for field in fields(Decoding)}
    return SOURCES.config_class("unlabelled")(path=str(path), **kept)


def _config(source: str, *, held_out: float, decoding: Decoding) -> Any:
    config = source_for(source)
    if SOURCES.of(config).name == "unlabelled":
        raise InputError(f"{source!r} has no labels: give a folder with a folder per class, or see `metagcd inspect`.")
    changes: dict[str, Any] = {"test_fraction": held_out} if hasattr(config, "test_fraction") else {}
    if isinstance(config, Check):
        changes |= {field.name: getattr(decoding, field.name) for field in fields(Decoding)}
    return replace(config, **changes)


def _labelled(source: str, data: Dataset) -> Labelled:
    counts = np.bincount(data.train_labels, minlength=len(data.class_names))
    if len(data.class_names) < FEWEST:
        raise InputError(f"{source!r} has one class; at least {FEWEST} are needed to tell classes apart.")
    if counts.min() < FEWEST:
        name, here = data.class_names[int(counts.argmin())], int(counts.min())
        raise InputError(
            f"Class `{name}` has {here} image{'' if here == 1 else 's'} to learn from, with others held out; it needs "
            f"{FEWEST + 1} in all. Add some, or leave the class out."
        )
    (train, rows), (test, others) = origin(data.train), origin(data.test)
    images = Rows(train, np.concatenate([rows, others])) if train is test else _beside(data)
    return Labelled(
        source=source,
        images=images,
        labels=np.concatenate([data.train_labels, data.test_labels]).astype(np.int64),
        learned=len(data.train_labels),
        names=data.class_names,
        skipped=data.skipped,
        note=data.note,
    )


def _beside(data: Dataset) -> Images:
    """Return the parts of a published data set, which may have come from different files, one after the other."""
    from metagcd.data.rows import ArrayImages

    parts = [part.read(np.arange(len(part))) for part in (data.train, data.test)]
    return ArrayImages(np.concatenate(parts))
