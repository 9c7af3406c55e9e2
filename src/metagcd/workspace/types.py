"""Value types of a workspace: classes by their statistics, what is said of an image, what a session brought."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Int8

from metagcd.errors import InputError
from metagcd.types import Array

KNOWN, UNSURE, NEW = 0, 1, 2
"""Codes of the verdict: of a class of the table, cannot be told, of none of them."""
VERDICTS = ("known", "unsure", "new")
"""The verdicts in words, by their code."""


@dataclass(frozen=True, kw_only=True)
class ClassTable:
    """Every class alive at a moment by its statistics; a row is a class, its place the row's number."""

    ids: tuple[str, ...]
    """`ant`, `novel-0001`: never given twice."""
    means: Float[Array, "c d"]
    """Means of unit features, under the encoder as it is now."""
    spreads: Float[Array, " c"]
    """Root mean square distance of a class's images to their mean, freed of the degree that the mean takes; NaN where
    a single image cannot tell."""
    counts: Int[Array, " c"]
    """Images behind mean and spread."""
    known: Bool[Array, " c"]
    """True: taught with labels; False: discovered."""

    def __post_init__(self) -> None:
        """Refuse columns of different lengths, ids that occur twice, and means that are not finite."""
        lengths = {len(column) for column in (self.ids, self.means, self.spreads, self.counts, self.known)}
        if lengths != {len(self.ids)} or len(set(self.ids)) < len(self.ids):
            raise InputError("A table of classes needs one row, and an id of its own, for every class.")
        if not np.isfinite(self.means).all():
            raise InputError("Means of classes hold NaN or infinite numbers.")

    def __len__(self) -> int:
        """Return how many classes there are."""
        return len(self.ids)

    def rows(self, chosen: Int[Array, " r"] | Bool[Array, " c"]) -> "ClassTable":
        """Return some of the classes, in the order asked for."""
        return ClassTable(
            ids=tuple(np.array(self.ids, dtype=object)[chosen]),
            means=self.means[chosen],
            spreads=self.spreads[chosen],
            counts=self.counts[chosen],
            known=self.known[chosen],
        )

    def joined(self, other: "ClassTable") -> "ClassTable":
        """Return these classes and then those of another table."""
        return ClassTable(
            ids=self.ids + other.ids,
            means=np.concatenate([self.means, other.means]),
            spreads=np.concatenate([self.spreads, other.spreads]),
            counts=np.concatenate([self.counts, other.counts]),
            known=np.concatenate([self.known, other.known]),
        )


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What is said of images, one by one."""

    place: Int[Array, " n"]
    """Row of the class in the table; beyond it, in the outcome of a session, the number of a new group."""
    confidence: Float[Array, " n"]
    """Calibrated probability that `place` is right, in [0, 1]."""
    novelty: Float[Array, " n"]
    """Calibrated probability of being of no class of the table, in [0, 1]."""
    verdict: Int8[Array, " n"]
    """KNOWN, UNSURE or NEW."""

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.place)

    def rows(self, chosen: Int[Array, " r"] | Bool[Array, " n"]) -> "Scores":
        """Return what is said of some of the images."""
        return Scores(
            place=self.place[chosen],
            confidence=self.confidence[chosen],
            novelty=self.novelty[chosen],
            verdict=self.verdict[chosen],
        )


@dataclass(frozen=True, kw_only=True)
class Group:
    """A new class that a session brought."""

    rows: Int[Array, " m"]
    """Rows of its images in the session, ascending."""
    mean: Float[Array, " d"]
    spread: float
    """As in a table of classes."""
    cohesion: float
    """How firmly it holds together, in [0, 1]: the mean silhouette of its images beside all other classes."""
    nearest: int
    """Row of the nearest class in the table; -1 where the table is empty."""
    nearest_similarity: float
    """Cosine between both means."""
    representatives: Int[Array, " r"]
    """Rows in the session of typical images that differ from one another, best first."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many new classes a session brought, and the range that repetitions gave; all the same where it was given."""

    k: int
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """The outcome of a session."""

    scores: Scores
    """`place` len(table) + i is `groups[i]`; NEW has a group, and UNSURE has none."""
    groups: tuple[Group, ...]
    """Largest first."""
    count: Count
    table: ClassTable
    """The classes that were there, their statistics refined by the images that were recognised beyond doubt."""

    def with_groups(self, ids: tuple[str, ...]) -> ClassTable:
        """Return the table with the groups added as discovered classes under these ids."""
        if len(ids) != len(self.groups):
            raise InputError(f"There are {len(ids)} ids for {len(self.groups)} groups.")
        if not ids:
            return self.table
        return self.table.joined(
            ClassTable(
                ids=ids,
                means=np.stack([group.mean for group in self.groups]).astype(self.table.means.dtype),
                spreads=np.array([group.spread for group in self.groups], dtype=self.table.spreads.dtype),
                counts=np.array([len(group.rows) for group in self.groups], dtype=np.int64),
                known=np.zeros(len(ids), dtype=np.bool_),
            )
        )
