"""Where the errors are: the aligned confusion matrix and the accuracy of every class."""

import numpy as np
from jaxtyping import Float, Int

from metagcd.cluster.assignment import contingency, match
from metagcd.evaluate.accuracy import right_images
from metagcd.types import Array


def confusion(
    truth: Int[Array, " n"], predicted: Int[Array, " m"]
) -> tuple[Int[Array, "c k"], Int[Array, " c"], Int[Array, " k"]]:
    """Count images by true class (rows) and cluster (columns), each cluster under the class it is mapped to.

    Returns the counts, the class ids of the rows and the cluster ids of the columns. Clusters without
    a class come last.
    """
    table, clusters, classes = contingency(truth, predicted)
    mapping = match(truth, predicted)
    place = {int(label): row for row, label in enumerate(classes)}
    column = [place[mapping[int(cluster)]] if int(cluster) in mapping else len(classes) for cluster in clusters]
    order = np.argsort(column, kind="stable")
    return table.T[:, order], classes, clusters[order]


def accuracy_per_class(truth: Int[Array, " n"], predicted: Int[Array, " m"]) -> dict[int, float]:
    """Return the accuracy of every true class in percent, under one map over all images."""
    right = right_images(truth, predicted)
    classes, place = np.unique(truth, return_inverse=True)
    share: Float[Array, " c"] = 100 * np.bincount(place, weights=right) / np.bincount(place)
    return {int(label): float(value) for label, value in zip(classes, share, strict=True)}
