"""Leave a poor local optimum: split the clusters that gain most by it, dissolve those that are missed least.

The moves are those of ISODATA (Ball and Hall, 1965), and are kept only where the inertia falls.
"""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from metagcd.cluster.bounds import Bounds, compare_all, inertia, run_one
from metagcd.cluster.lloyd import Anchor, Rule, cluster_sums
from metagcd.cluster.points import KMeans, as_points

SLACK = 0.5
"""A pair is tried if the gain is above this part of the loss: the others make up for some of it."""
HALVINGS = 6
"""Rounds of two-means inside each cluster."""
ROUNDS = 4
"""Rounds after which a trial is judged; the one that is kept runs on to convergence."""
WORTH = 1e-4
"""Least part by which the inertia must fall."""


def improve(
    points: Float[Tensor, "m d"], start: Float[Tensor, "k d"], rule: Rule, anchor: Anchor | None, *, trials: int
) -> KMeans:
    """Run to convergence, then move centroids from where they are missed least while the inertia falls."""
    squares = points.square().sum(1)
    best = finished(points, start, rule, anchor)
    most, brief, moved = len(start), replace(rule, rounds=min(ROUNDS, rule.rounds)), False
    for _ in range(trials):
        centroids = as_points(best.centroids)
        split, dissolved, halves = proposals(points, compare_all(points, squares, centroids), centroids, anchor)
        most = min(most, len(split))
        if most == 0:
            break
        trial = centroids.clone()
        trial[split[:most]], trial[dissolved[:most]] = halves[0][split[:most]], halves[1][split[:most]]
        found = finished(points, trial, brief, anchor)
        if found.inertia < best.inertia * (1 - WORTH):
            best, moved = found, True
        else:
            most //= 2
    return finished(points, as_points(best.centroids), rule, anchor) if moved else best


def finished(
    points: Float[Tensor, "m d"], start: Float[Tensor, "k d"], rule: Rule, anchor: Anchor | None = None
) -> KMeans:
    """Run to convergence and measure."""
    centroids, labels, rounds = run_one(points, start, rule, anchor)
    return KMeans(labels, centroids, inertia(points, centroids, labels), rounds)


def proposals(
    points: Float[Tensor, "m d"], state: Bounds, centroids: Float[Tensor, "k d"], anchor: Anchor | None
) -> tuple[Int[Tensor, " s"], Int[Tensor, " s"], Float[Tensor, "2 k d"]]:
    """Return the clusters to split, the clusters to dissolve for them, best first, and both halves of every cluster."""
    k = len(centroids)
    gain, halves = two_means(points, state, centroids)
    loss = points.new_zeros(k).scatter_add_(0, state.labels, state.lower.square() - state.upper.square())
    if anchor is not None:
        loss = loss.masked_fill(anchor.counts > 0, torch.inf)
    gains, losses = gain.argsort(descending=True, stable=True), loss.argsort(stable=True)
    pairs = gain[gains] > SLACK * loss[losses]
    # Gains fall and losses rise, so that the first pair that does not pay ends the list.
    count = int(pairs.long().cumprod(0).sum())
    overlap = torch.isin(gains[:count], losses[:count])
    count = int(overlap.long().argmax()) if bool(overlap.any()) else count
    return gains[:count], losses[:count], halves


def two_means(
    points: Float[Tensor, "m d"], state: Bounds, centroids: Float[Tensor, "k d"]
) -> tuple[Float[Tensor, " k"], Float[Tensor, "2 k d"]]:
    """Halve every cluster by two-means from its farthest point; return how much the inertia falls, and the halves."""
    k = len(centroids)
    order = state.upper.argsort(stable=True)
    farthest = torch.zeros(k, dtype=torch.int64, device=points.device)
    farthest[state.labels[order]] = order
    residual = points - centroids[state.labels]
    axis = residual[farthest]
    middle = points.new_zeros(k)
    halves = centroids.expand(2, -1, -1)
    gain = points.new_zeros(k)
    for _ in range(HALVINGS):
        side: Bool[Tensor, " m"] = (residual * axis[state.labels]).sum(1) > middle[state.labels]
        sums, counts = cluster_sums(residual, (state.labels + k * side)[None], 2 * k)
        means = (sums / counts.clamp(min=1)[..., None]).view(2, k, -1)
        axis, middle = means[1] - means[0], (means[1].square() - means[0].square()).sum(1) / 2
        halves = centroids + means
        gain = (counts.view(2, k) * means.square().sum(2)).sum(0)
    return gain, halves
