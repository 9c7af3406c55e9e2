"""The best one-to-one map of clusters to classes (Kuhn, 1955)."""

import numpy as np
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment

from metagcd.errors import InputError
from metagcd.types import Array


def contingency(
    truth: Int[Array, " n"], predicted: Int[Array, " m"]
) -> tuple[Int[Array, "p c"], Int[Array, " p"], Int[Array, " c"]]:
    """Count how often each cluster meets each class; with the cluster ids and class ids of the rows and columns."""
    if len(truth) != len(predicted):
        raise InputError(f"There are {len(truth)} true classes but {len(predicted)} predicted clusters.")
    clusters, row = np.unique(predicted, return_inverse=True)
    classes, column = np.unique(truth, return_inverse=True)
    cells = np.bincount(row * len(classes) + column, minlength=len(clusters) * len(classes))
    return cells.reshape(len(clusters), len(classes)), clusters, classes


def match(truth: Int[Array, " n"], predicted: Int[Array, " m"]) -> dict[int, int]:
    """Return the one-to-one map of cluster ids to class ids that makes most points right.

    With more clusters than classes some clusters have no class, and with fewer some classes have no cluster.
    """
    table, clusters, classes = contingency(truth, predicted)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return {int(clusters[row]): int(classes[column]) for row, column in zip(rows, columns, strict=True)}


def apply(mapping: dict[int, int], predicted: Int[Array, " n"], *, missing: int = -1) -> Int[Array, " n"]:
    """Return the class id of every point; `missing` where its cluster has no class."""
    clusters, row = np.unique(predicted, return_inverse=True)
    return np.array([mapping.get(int(cluster), missing) for cluster in clusters], dtype=np.int64)[row]
