"""One class or two: how far apart groups of images lie along the line between their means.

The separation is the distance of two means over the standard deviation of the images along that line (Fisher, 1936). It
does not change with scale, nor with the axes that have nothing to do with the question. Each image is left out of the
mean that its own group has, so that few images in many dimensions do not seem apart by chance.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster.lloyd import cluster_sums
from metagcd.cluster.points import as_points, blocks
from metagcd.types import Array

PRIOR_IMAGES = 5.0
"""Images that the usual shape of a class counts for beside a group's own; our choice."""
FLATNESS = 0.15
"""Spread of a class along one line over the whole, where there are no two classes to measure it on."""
CLASSES = 100
"""Most classes that it is measured on."""
IMAGES = 300
"""Most images of each."""
TINY = 1e-12


@dataclass(frozen=True)
class Clouds:
    """Groups of images."""

    points: Float[Tensor, "n d"]
    labels: Int[Tensor, " n"]
    means: Float[Tensor, "k d"]
    """Where each group lies: the mean of its images, or what is known of its class."""
    own: Float[Tensor, " k"]
    """Images that the mean was taken of among `points`; 0 where it comes from elsewhere."""
    spreads: Float[Tensor, " k"]
    """Spread of each group, as good as it is known."""


def clouds(points: Float[Tensor, "n d"], labels: Int[Tensor, " n"], k: int) -> Clouds:
    """Return groups that nothing else is known of."""
    sums, counts = cluster_sums(points, labels[None], k)
    means = sums[0] / counts[0].clamp(min=1)[:, None]
    squares = points.new_zeros(k).index_add_(0, labels, (points - means[labels]).square().sum(1))
    return Clouds(points, labels, means, counts[0], (squares / (counts[0] - 1).clamp(min=1)).sqrt())


def separation(groups: Clouds, *, flatness: float) -> Float[Tensor, "k k"]:
    """Return how far apart every two groups lie; infinite on the diagonal, where a group has no image both sides."""
    within, count = variances(groups)
    uncertain = groups.spreads.square() / groups.own.clamp(min=1) * (groups.own > 0)
    gap = (torch.cdist(groups.means, groups.means).square() - uncertain[:, None] - uncertain).clamp(min=0)
    # `within` is along the line that joins the means, not yet divided by its length.
    usual = (flatness * groups.spreads).square()[:, None] * gap
    weight = (count - 1).clamp(min=0)[:, None]
    mixed = (weight * within + PRIOR_IMAGES * usual) / (weight + PRIOR_IMAGES)
    pooled = (mixed + mixed.T) / 2
    found = gap / pooled.sqrt().clamp(min=TINY)
    return found.fill_diagonal_(torch.inf)


def variances(groups: Clouds) -> tuple[Float[Tensor, "k k"], Float[Tensor, " k"]]:
    """Return the variance of the images of group a along (mean of a, without the image) - (mean of b), and counts."""
    k, (points, labels) = len(groups.means), (groups.points, groups.labels)
    count = torch.bincount(labels, minlength=k).to(points.dtype)
    first, second = points.new_zeros(k, k), points.new_zeros(k, k)
    for rows in blocks(len(points), k):
        own = labels[rows]
        line = _along(points[rows], own, groups)
        first.index_add_(0, own, line)
        second.index_add_(0, own, line.square())
    mean = first / count.clamp(min=1)[:, None]
    return (second - count[:, None] * mean.square()).clamp(min=0) / (count - 1).clamp(min=1)[:, None], count


def _along(points: Float[Tensor, "b d"], own: Int[Tensor, " b"], groups: Clouds) -> Float[Tensor, "b k"]:
    """Return the place of every image along the line from each mean to that of its own group, less the group's mean."""
    centred = points - groups.means[own]
    inside = groups.own[own] > 1
    # Without the image x, the mean m of n images is (n m - x) / (n - 1): m less (x - m) / (n - 1).
    left_out = torch.where(inside, 1 / (groups.own[own] - 1).clamp(min=1), 0)
    to_others = centred @ groups.means.T
    to_own = to_others.gather(1, own[:, None])[:, 0] - left_out * centred.square().sum(1)
    return to_own[:, None] - to_others


def flatness_of_classes(features: Float[Array, "n d"], labels: Int[Array, " n"], *, seed: int) -> float:
    """Return the spread of a class along the line to another class over its whole spread, in the middle of all."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.unique(labels))[:CLASSES]
    rows = [rng.permutation(np.flatnonzero(labels == place))[:IMAGES] for place in chosen]
    own = torch.from_numpy(np.repeat(np.arange(len(rows)), [len(part) for part in rows]))
    groups = clouds(as_points(features[np.concatenate(rows)]), own, len(rows))
    gap = torch.cdist(groups.means, groups.means).square()
    usable = (groups.own > 1)[:, None] & (gap > 0) & (groups.spreads > 0)[:, None]
    if not bool(usable.any()):
        return FLATNESS
    along = (variances(groups)[0] / gap.clamp(min=TINY)).sqrt()
    return float((along / groups.spreads[:, None].clamp(min=TINY))[usable].median())
