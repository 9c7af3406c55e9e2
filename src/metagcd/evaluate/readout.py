"""From features to class ids by k-means, and from class ids to the partitions that are reported."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from metagcd.cluster.kmeans import kmeans
from metagcd.evaluate.accuracy import Accuracy, Assignment, clustering_accuracy
from metagcd.types import Array

Partition: TypeAlias = Literal["initial", "previous"]


@dataclass(frozen=True)
class Reading:
    """The accuracies under one partition into old and new, and one way to map clusters to classes."""

    partition: Partition
    assignment: Assignment
    accuracy: Accuracy


def kmeans_readout(features: Float[Array, "n d"], n_classes: int, *, seed: int, restarts: int = 10) -> Int[Array, " n"]:
    """Return the cluster of every image: k-means on the features, the number of classes known."""
    return np.asarray(kmeans(features, n_classes, seed=seed, restarts=restarts).labels)


def readings(
    truth: Int[Array, " n"],
    predicted: Int[Array, " m"],
    *,
    initial: Collection[int],
    previous: Collection[int],
    assignments: Sequence[Assignment] = ("global",),
) -> tuple[Reading, ...]:
    """Score the clusters under both partitions and each asked assignment.

    `initial` holds the classes of session 0, `previous` all classes met before this session.
    """
    partitions: tuple[tuple[Partition, Collection[int]], ...] = (("initial", initial), ("previous", previous))
    return tuple(
        Reading(name, assignment, clustering_accuracy(truth, predicted, old, assignment=assignment))
        for name, old in partitions
        for assignment in assignments
    )
