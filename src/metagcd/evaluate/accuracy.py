"""Clustering accuracy of all, old and new images."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from metagcd.cluster.assignment import apply, match
from metagcd.errors import InputError, unknown_name
from metagcd.types import Array

Assignment: TypeAlias = Literal["global", "split"]


@dataclass(frozen=True)
class Accuracy:
    """Percentages of images whose cluster is mapped to their class; nan where there are no such images."""

    all: float
    old: float
    new: float


def clustering_accuracy(
    truth: Int[Array, " n"],
    predicted: Int[Array, " m"],
    old: Array | Collection[int],
    *,
    assignment: Assignment = "global",
) -> Accuracy:
    """Score clusters against classes under the best one-to-one map.

    `old` is a mask with a boolean per image, or the ids of the classes that count as old. With "global" there is one
    map over all images. "split" draws one map for the old and another for the new images, as code released in this
    field does; it lets a cluster count for two classes and never scores lower, so the two must not be compared.
    """
    if len(truth) != len(predicted):
        raise InputError(f"There are {len(truth)} true classes but {len(predicted)} predicted clusters.")
    mask = old_images(truth, old)
    right = right_under(truth, predicted, mask, assignment=assignment)
    return Accuracy(percent(right), percent(right[mask]), percent(right[~mask]))


def right_under(
    truth: Int[Array, " n"], predicted: Int[Array, " m"], old: Bool[Array, " n"], *, assignment: Assignment
) -> Bool[Array, " n"]:
    """Return which images are right under one map for all, or under one for the old and one for the others."""
    if assignment == "global":
        return right_images(truth, predicted)
    if assignment != "split":
        raise unknown_name("assignment", assignment, ("global", "split"))
    right = np.zeros(len(truth), dtype=bool)
    for part in (old, ~old):
        right[part] = right_images(truth[part], predicted[part])
    return right


def right_images(truth: Int[Array, " n"], predicted: Int[Array, " m"]) -> Bool[Array, " n"]:
    """Return which images lie in the cluster that is mapped to their class, under the best one-to-one map."""
    no_class = np.iinfo(np.int64).min
    return truth == apply(match(truth, predicted), predicted, missing=no_class)


def old_images(truth: Int[Array, " n"], old: Array | Collection[int]) -> Bool[Array, " n"]:
    """Return the mask of old images from a mask or from the ids of old classes."""
    values = np.asarray(old if isinstance(old, np.ndarray) else list(old))
    if values.dtype != bool:
        return np.isin(truth, values)
    if len(values) != len(truth):
        raise InputError(f"The mask of old images has {len(values)} entries; there are {len(truth)} images.")
    return values


def percent(right: Bool[Array, " n"]) -> float:
    """Return the percentage of true entries; nan of none."""
    return float(100 * right.mean()) if len(right) else float("nan")
