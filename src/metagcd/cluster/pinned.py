"""Semi-supervised k-means (Vaze et al., 2022): labelled points stay in the cluster of their class."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster.kmeans import Plan, as_array, centred, delivered, search
from metagcd.cluster.lloyd import Anchor, Rule
from metagcd.cluster.points import KMeans, as_points, blocks, check_counts, unit_rows
from metagcd.errors import InputError
from metagcd.types import Array


@dataclass(frozen=True)
class Pins:
    """The labelled points, with the place of each one's class among the classes in ascending order."""

    points: Float[Tensor, "p d"]
    places: Int[Tensor, " p"]
    classes: int


def semi_supervised_kmeans(
    x: Array | Tensor,
    k: int,
    *,
    known_labels: Array | Tensor,
    seed: int,
    restarts: int = 10,
    spherical: bool = False,
) -> KMeans:
    """Cluster the rows into `k` groups, the labelled ones held in the group of their class.

    `known_labels` has a class id per row, -1 where there is none. Cluster i is the i-th known class in ascending order;
    the clusters after the known ones are new. The inertia counts labelled and unlabelled points.
    """
    points = as_points(x)
    known = checked_labels(known_labels, len(points))
    classes, places = np.unique(known[known >= 0], return_inverse=True)
    check_counts(len(points), k, restarts)
    if k < len(classes):
        raise InputError(f"There are {len(classes)} labelled classes; {k} clusters cannot hold them apart.")
    points, centre = centred(points, spherical=spherical)
    held = torch.from_numpy(known >= 0).to(points.device)
    pins = Pins(points[held], torch.from_numpy(places).to(points.device), len(classes))
    plan = Plan(k, restarts, seed, Rule(spherical=spherical))
    found = clustered(points[~held], pins, plan)
    labels = torch.empty(len(points), dtype=torch.int64, device=points.device)
    labels[held], labels[~held] = pins.places, torch.as_tensor(found.labels, device=points.device)
    return delivered(x, replace(found, labels=labels, centroids=found.centroids + centre))


def clustered(free: Float[Tensor, "u d"], pins: Pins, plan: Plan) -> KMeans:
    """Cluster the free points beside the pinned ones, which count in the centroids and in the inertia."""
    means, anchor = class_means(pins, plan)
    new = plan.k - pins.classes
    if len(free) < new:
        raise InputError(f"Cannot find {new} new clusters in {len(free)} unlabelled rows; ask for {len(free)} at most.")
    nothing = KMeans(pins.places[:0], means, 0.0, 0)
    found = search(free, plan, fixed=means, anchor=anchor) if len(free) else nothing
    centroids = as_points(found.centroids)
    held = [
        (pins.points[rows] - centroids[pins.places[rows]]).square().sum(dtype=torch.float64)
        for rows in blocks(len(pins.points), pins.points.shape[1])
    ]
    return replace(found, inertia=found.inertia + float(sum(held)))


def class_means(pins: Pins, plan: Plan) -> tuple[Float[Tensor, "c d"], Anchor]:
    """Return the mean of every known class, and what the pinned points weigh in the centroids."""
    sums = pins.points.new_zeros(plan.k, pins.points.shape[1]).index_add_(0, pins.places, pins.points)
    counts = torch.bincount(pins.places, minlength=plan.k).to(sums.dtype)
    means = sums[: pins.classes] / counts[: pins.classes, None]
    return unit_rows(means) if plan.rule.spherical else means, Anchor(sums, counts)


def checked_labels(known_labels: Array | Tensor, rows: int) -> Int[Array, " n"]:
    """Return the labels as an array of integers; refuse another number of them than there are rows."""
    labels = as_array(known_labels.cpu() if isinstance(known_labels, Tensor) else known_labels)
    if labels.shape != (rows,) or not np.issubdtype(labels.dtype, np.integer):
        raise InputError(
            f"`known_labels` needs one integer for each of the {rows} rows, -1 where unlabelled; "
            f"got {labels.dtype} of shape {labels.shape}."
        )
    return labels.astype(np.int64)
