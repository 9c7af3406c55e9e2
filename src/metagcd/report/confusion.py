"""Which clusters met which classes, with clusters put in the order of the classes they are mapped to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from metagcd.report.records import Answers
from metagcd.types import Array


@dataclass(frozen=True)
class Confusion:
    """Counts of test images: a row per class, a column per cluster.

    Column i holds the cluster mapped to class i; clusters that no class was left for follow after them.
    """

    counts: Int[Array, "c k"]
    clusters: tuple[int | None, ...]
    """The cluster id of every column; None where no cluster was left for the class."""

    @property
    def shares(self) -> Float[Array, "c k"]:
        """Return the counts as shares of their row; a class without images has a row of zeros."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)

    @property
    def accuracies(self) -> Float[Array, " c"]:
        """Return the percentage of every class that is in its cluster; nan for a class without images."""
        sizes = self.counts.sum(axis=1)
        right = np.diagonal(self.counts)[: len(sizes)]
        return np.where(sizes > 0, 100 * right / np.maximum(sizes, 1), np.nan)


def confusion(answers: Answers) -> Confusion:
    """Count classes against clusters under the one-to-one map that makes most images right (Kuhn, 1955)."""
    from scipy.optimize import linear_sum_assignment

    classes = int(answers.truth.max(initial=-1)) + 1
    clusters, column = np.unique(answers.predicted, return_inverse=True)
    cells = np.bincount(answers.truth * len(clusters) + column, minlength=classes * len(clusters))
    counts = cells.reshape(classes, len(clusters))
    rows, columns = linear_sum_assignment(counts, maximize=True)
    mapped: dict[int, int] = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    rest = sorted(set(range(len(clusters))) - set(mapped.values()))
    places = [mapped.get(label) for label in range(classes)] + rest
    nothing = np.zeros(classes, dtype=np.int64)
    table = np.stack([nothing if place is None else counts[:, place] for place in places], axis=1)
    return Confusion(table, tuple(None if place is None else int(clusters[place]) for place in places))


def summed(parts: Sequence[Confusion]) -> Confusion:
    """Return the sum over seeds; shorter ones count as if padded with nothing."""
    rows = max(part.counts.shape[0] for part in parts)
    spare = max(part.counts.shape[1] - part.counts.shape[0] for part in parts)
    total = np.zeros((rows, rows + spare), dtype=np.int64)
    for part in parts:
        classes, columns = part.counts.shape
        total[:classes, :classes] += part.counts[:, :classes]
        total[:classes, rows : rows + columns - classes] += part.counts[:, classes:]
    return Confusion(total, parts[0].clusters if len(parts) == 1 else (None,) * total.shape[1])
