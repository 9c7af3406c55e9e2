"""Lloyd's rounds for one run over all points, skipping those that cannot change (Hamerly, 2010)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster.lloyd import Anchor, Rule, update
from metagcd.cluster.points import blocks

GATHER = 0.7
"""Above this share of points in doubt all are compared again: copying them together costs more than it spares."""


@dataclass(frozen=True)
class Bounds:
    """The label of every point, the most it is away from its centroid, and the least from any other."""

    labels: Int[Tensor, " n"]
    upper: Float[Tensor, " n"]
    lower: Float[Tensor, " n"]


def run_one(
    points: Float[Tensor, "n d"], start: Float[Tensor, "k d"], rule: Rule, anchor: Anchor | None = None
) -> tuple[Float[Tensor, "k d"], Int[Tensor, " n"], int]:
    """Run to convergence; return the centroids, the label of the nearest one for every point, and the rounds.

    A point keeps its label without a comparison while the most it can be away from its own centroid is below the
    least it can be from any other; both are carried along by how far the centroids moved.
    """
    limit = rule.tolerance * float(points.var(0, correction=0).mean())
    squares = points.square().sum(1)
    state = compare_all(points, squares, start)
    centroids, done, going = start, 0, True
    while going and done < rule.rounds:
        done += 1
        before = state.labels.clone()
        moved = update(points, state.labels[None], state.upper[None].square(), centroids[None], rule, anchor)[0]
        drift = (moved - centroids).square().sum(1).sqrt()
        centroids = moved
        state.upper.add_(drift[state.labels])
        state.lower.sub_(drift.max())
        compare_doubtful(points, squares, centroids, state)
        going = float(drift.square().sum()) > limit and not torch.equal(before, state.labels)
    return centroids, state.labels, done


def compare_all(points: Float[Tensor, "n d"], squares: Float[Tensor, " n"], centroids: Float[Tensor, "k d"]) -> Bounds:
    """Compare every point with every centroid."""
    parts = [nearest_two(points[rows], squares[rows], centroids) for rows in blocks(len(points), len(centroids))]
    return Bounds(*(torch.cat(part) for part in zip(*parts, strict=True)))


def compare_doubtful(
    points: Float[Tensor, "n d"], squares: Float[Tensor, " n"], centroids: Float[Tensor, "k d"], state: Bounds
) -> None:
    """Compare again, in place, the points whose bounds no longer tell them apart."""
    doubt = (state.upper >= state.lower).nonzero()[:, 0]
    everything = len(doubt) > GATHER * len(points)
    count = len(points) if everything else len(doubt)
    for part in blocks(count, max(len(centroids), points.shape[1])):
        rows = part if everything else doubt[part]
        label, upper, lower = nearest_two(points[rows], squares[rows], centroids)
        state.labels[rows], state.upper[rows], state.lower[rows] = label, upper, lower


def nearest_two(
    points: Float[Tensor, "b d"], squares: Float[Tensor, " b"], centroids: Float[Tensor, "k d"]
) -> tuple[Int[Tensor, " b"], Float[Tensor, " b"], Float[Tensor, " b"]]:
    """Return the nearest centroid, the distance to it, and the distance to the second nearest."""
    table = torch.addmm(centroids.square().sum(1)[None], points, centroids.T, alpha=-2)
    least, label = table.min(1)
    second = table.scatter_(1, label[:, None], torch.inf).amin(1)
    return label, (least + squares).clamp(min=0).sqrt(), (second + squares).clamp(min=0).sqrt()


def inertia(points: Float[Tensor, "n d"], centroids: Float[Tensor, "k d"], labels: Int[Tensor, " n"]) -> float:
    """Return the sum of squared distances to the own centroid: by differences, added in double precision."""
    parts = [
        (points[rows] - centroids[labels[rows]]).square().sum(dtype=torch.float64)
        for rows in blocks(len(points), points.shape[1])
    ]
    return float(torch.stack(parts).sum())
