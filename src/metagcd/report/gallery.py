"""Pictures of what was discovered: test images of every cluster that is mapped to a novel class, or to none."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.data import SOURCES, load
from metagcd.errors import InputError
from metagcd.report.confusion import confusion
from metagcd.report.records import Answers, Record
from metagcd.types import Array, Dataset

CHEAP = ("digits",)
"""Sources that come with the software and load in a moment."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much a gallery may show."""

    images: int = 8
    """Test images of a cluster."""
    clusters: int = 24
    """Clusters of a run."""
    side: int = 48
    """Side of a picture, in pixels."""
    characters: int = 1_500_000
    """Of all pictures of a report together."""


@dataclass(frozen=True)
class Thumbnail:
    """One test image."""

    source: str
    """The picture itself, as a `data:` address."""
    name: str
    """Name of its true class."""
    right: bool
    """Whether the cluster is mapped to this class."""


@dataclass(frozen=True)
class Cluster:
    """A discovered cluster."""

    title: str
    size: int
    thumbnails: tuple[Thumbnail, ...]

    @property
    def characters(self) -> int:
        """Return how long its pictures are."""
        return sum(len(thumbnail.source) for thumbnail in self.thumbnails)


@dataclass(frozen=True)
class Gallery:
    """The discovered clusters of a run, for one seed and one read-out."""

    label: str
    seed: int
    readout: str
    clusters: tuple[Cluster, ...]
    left_out: int
    """Clusters that there was no room for."""


def data_of(record: Record, given: Dataset | None) -> Dataset | None:
    """Return the images that the run was made with: those given where they are the same, else those cheap to load."""
    fingerprint = record.about.get("source_fingerprint")
    if given is not None:
        return given if given.fingerprint == fingerprint else None
    if record.source.get("name") not in CHEAP:
        return None
    from metagcd.config import from_mapping

    settings = {key: value for key, value in record.source.items() if key != "name"}
    try:
        found = load(from_mapping(SOURCES.get(record.source["name"]).config(), settings))
    except InputError:  # A configuration of another version: the report goes without pictures.
        return None
    return found if found.fingerprint == fingerprint else None


def class_names(record: Record, data: Dataset | None) -> tuple[str, ...]:
    """Return the names of the classes in the order they were met; empty where they are not to be had."""
    if data is None or record.class_order is None:
        return ()
    return tuple(data.class_names[label] for label in record.class_order)


def galleries(pairs: Sequence[tuple[Record, Dataset | None]], size: Size) -> tuple[Gallery, ...]:
    """Return a gallery of the first seed of every run whose images are at hand, as far as there is room."""
    found: list[Gallery] = []
    room = size.characters
    for record, data in pairs:
        first = min((answers.seed for answers in record.answers), default=None)
        for answers in record.answers:
            if data is not None and answers.seed == first and answers.seed in record.protocols:
                gallery = _gallery(record, answers, data, replace(size, characters=room))
                room -= sum(cluster.characters for cluster in gallery.clusters)
                found.append(gallery)
    return tuple(gallery for gallery in found if gallery.clusters or gallery.left_out)


def _gallery(record: Record, answers: Answers, data: Dataset, size: Size) -> Gallery:
    protocol = record.protocols[answers.seed]
    test = protocol.sessions[answers.session - 1].test if answers.session else protocol.offline_test
    names = tuple(data.class_names[label] for label in protocol.class_order)
    matrix, known = confusion(answers), len(protocol.known)
    novel = [(place, found) for place, found in enumerate(matrix.clusters) if place >= known and found is not None]
    clusters: list[Cluster] = []
    room = size.characters
    for place, found in novel[: size.clusters]:
        members = np.flatnonzero(answers.predicted == found)
        shown = _spread(members, size.images)
        squares = data.test.read(test[shown])
        thumbnails = tuple(
            Thumbnail(_picture(square, size.side), names[label], label == place)
            for square, label in zip(squares, answers.truth[shown].tolist(), strict=True)
        )
        mapped = f"mapped to {names[place]}" if place < len(matrix.counts) else "mapped to no class"
        cluster = Cluster(f"cluster {found}, {mapped}", len(members), thumbnails)
        room -= cluster.characters
        if room < 0:
            break
        clusters.append(cluster)
    return Gallery(record.label, answers.seed, answers.readout, tuple(clusters), len(novel) - len(clusters))


def _spread(rows: Int[Array, " n"], count: int) -> Int[Array, " m"]:
    """Return at most `count` of the rows, evenly spaced."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(np.int64))]


def _picture(square: UInt8[Array, "h w 3"], side: int) -> str:
    """Return a small PNG as a `data:` address; tiny pictures are enlarged with their pixels visible."""
    from PIL import Image
    from PIL.Image import Resampling

    content = io.BytesIO()
    kind = Resampling.BICUBIC if len(square) > side else Resampling.NEAREST
    Image.fromarray(square).resize((side, side), kind).save(content, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
