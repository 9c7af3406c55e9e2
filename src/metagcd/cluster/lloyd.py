"""Lloyd's rounds (1982) for many restarts at once: assign, average, reseed what is empty."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster.points import blocks, unit_rows


@dataclass(frozen=True)
class Anchor:
    """Labelled points that stay in their clusters: all that centroids need to know of them."""

    sums: Float[Tensor, "k d"]
    counts: Float[Tensor, " k"]

    def scaled(self, factor: float) -> "Anchor":
        """Return the weight the labelled points have beside a sample of the others."""
        return Anchor(self.sums * factor, self.counts * factor)


@dataclass(frozen=True)
class Rule:
    """When rounds stop and what a centroid is."""

    tolerance: float = 1e-4
    """Stop when the squared movement of the centroids falls under this part of the mean variance; as scikit-learn."""
    rounds: int = 300
    """Stop after so many rounds; as scikit-learn."""
    spherical: bool = False
    """Centroids of length one (the points must be too): clusters by cosine."""


def run_all(
    points: Float[Tensor, "m d"], start: Float[Tensor, "r k d"], rule: Rule, anchor: Anchor | None = None
) -> tuple[Float[Tensor, "r k d"], Float[Tensor, " r"], int]:
    """Run every restart to convergence, dropping those that are done; return centroids, inertias and rounds."""
    centroids, cost = start.clone(), start.new_zeros(len(start))
    active = torch.arange(len(start), device=start.device)
    limit = rule.tolerance * float(points.var(0, correction=0).mean())
    before, done = None, 0
    while len(active) and done < rule.rounds:
        done += 1
        labels, squares = assign(points, centroids[active])
        moved = update(points, labels, squares, centroids[active], rule, anchor)
        shift = (moved - centroids[active]).square().sum((1, 2))
        centroids[active], cost[active] = moved, squares.sum(1, dtype=torch.float64).to(cost.dtype)
        going = shift > limit
        if before is not None:
            going &= (labels != before).any(1)
        active, before = active[going], labels[going]
    return centroids, cost, done


def assign(
    points: Float[Tensor, "m d"], centroids: Float[Tensor, "r k d"]
) -> tuple[Int[Tensor, "r m"], Float[Tensor, "r m"]]:
    """Return the nearest centroid of every point under each restart, and the squared distance to it."""
    restarts, k, _ = centroids.shape
    flat = centroids.flatten(0, 1)
    squares = flat.square().sum(1)
    labels = torch.empty(restarts, len(points), dtype=torch.int64, device=points.device)
    nearest = points.new_empty(restarts, len(points))
    for rows in blocks(len(points), len(flat)):
        table = torch.addmm(squares[None], points[rows], flat.T, alpha=-2).view(-1, restarts, k)
        least, place = table.min(-1)
        labels[:, rows], nearest[:, rows] = place.T, least.T
    return labels, nearest.add_(points.square().sum(1)).clamp_(min=0)


def update(
    points: Float[Tensor, "m d"],
    labels: Int[Tensor, "r m"],
    squares: Float[Tensor, "r m"],
    centroids: Float[Tensor, "r k d"],
    rule: Rule,
    anchor: Anchor | None = None,
) -> Float[Tensor, "r k d"]:
    """Return the means of the clusters; empty clusters restart at the points farthest from their centroids.

    Where every point lies on its centroid there is nothing to restart at, and an empty cluster's centroid stays.
    """
    k = centroids.shape[1]
    sums, counts = cluster_sums(points, labels, k)
    held = torch.zeros_like(counts[0]) if anchor is None else anchor.counts
    for restart in ((counts + held) == 0).any(1).nonzero()[:, 0].tolist():
        labels[restart] = fill_empty(labels[restart], squares[restart], counts[restart] + held)
        one, count = cluster_sums(points, labels[restart : restart + 1], k)
        sums[restart], counts[restart] = one[0], count[0]
    if anchor is not None:
        sums, counts = sums + anchor.sums, counts + anchor.counts
    means = torch.where(
        counts[..., None] > 0, sums / counts.clamp(min=torch.finfo(sums.dtype).tiny)[..., None], centroids
    )
    return unit_rows(means) if rule.spherical else means


def cluster_sums(
    points: Float[Tensor, "m d"], labels: Int[Tensor, "r m"], k: int
) -> tuple[Float[Tensor, "r k d"], Float[Tensor, "r k"]]:
    """Return the sum and the number of the points in each cluster, added in the order of the rows."""
    restarts, rows = labels.shape
    flat = (labels + k * torch.arange(restarts, device=labels.device)[:, None]).flatten()
    counts = torch.bincount(flat, minlength=restarts * k)
    # A sorted gather instead of an atomic addition: the same sum on every run, on any device.
    order = torch.argsort(flat, stable=True) % rows
    sums = torch.nn.functional.embedding_bag(order, points, counts.cumsum(0) - counts, mode="sum")
    return sums.view(restarts, k, -1), counts.view(restarts, k).to(points.dtype)


def fill_empty(
    labels: Int[Tensor, " m"], squares: Float[Tensor, " m"], counts: Float[Tensor, " k"]
) -> Int[Tensor, " m"]:
    """Give each empty cluster the farthest point of a cluster that can spare one."""
    labels, left = labels.clone(), counts.clone()
    empty = (counts == 0).nonzero()[:, 0].tolist()
    for point in squares.argsort(descending=True, stable=True).tolist():
        if not empty or squares[point] <= 0:
            break
        if left[labels[point]] > 1:
            left[labels[point]] -= 1
            labels[point] = empty.pop(0)
    return labels
