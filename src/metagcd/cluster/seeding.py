"""Greedy k-means++ (Arthur and Vassilvitskii, 2007) for many restarts at once."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster.points import blocks

TABLE = 1 << 26
"""Most entries of a stored table of distances between points (256 MiB in single precision)."""


class Distances:
    """Squared distances from chosen points to all points; looked up in a table where that is small enough."""

    def __init__(self, points: Float[Tensor, "m d"], draws: int) -> None:
        self.points = points
        self.squares = points.square().sum(1)
        # The table costs m^2 products, computing at need `draws` * m.
        self.table = None
        if len(points) <= draws and len(points) ** 2 <= TABLE:
            self.table = self._compute(points, self.squares)

    def of(self, rows: Int[Tensor, " c"]) -> Float[Tensor, "c m"]:
        """Return the squared distances from these points to every point."""
        if self.table is not None:
            return self.table[rows]
        return self._compute(self.points[rows], self.squares[rows])

    def _compute(self, a: Float[Tensor, "c d"], squares: Float[Tensor, " c"]) -> Float[Tensor, "c m"]:
        out = torch.addmm(self.squares[None], a, self.points.T, alpha=-2)
        return out.add_(squares[:, None]).clamp_(min=0)


def plus_plus(
    points: Float[Tensor, "m d"],
    k: int,
    *,
    restarts: int,
    generator: torch.Generator,
    fixed: Float[Tensor, "f d"] | None = None,
) -> Float[Tensor, "r k d"]:
    """Choose `k` starting centroids per restart, the `fixed` ones first; each the best of several draws by D^2."""
    candidates = 2 + int(math.log(k))
    start = torch.empty(restarts, 0, dtype=torch.int64, device=points.device)
    held = points.new_empty(0, points.shape[1]) if fixed is None else fixed
    distances = Distances(points, restarts * candidates * (k - len(held)))
    if len(held):
        nearest = nearest_square(points, held).expand(restarts, -1).contiguous()
    else:
        start = _uniform(restarts, len(points), generator).to(points.device)[:, None]
        nearest = distances.of(start[:, 0]).clone()
    chosen = [start]
    for _ in range(k - len(held) - start.shape[1]):
        drawn = _draw(nearest, candidates, generator)
        options = torch.minimum(distances.of(drawn.flatten()).view(restarts, candidates, -1), nearest[:, None])
        best = options.sum(-1).argmin(1)
        each = torch.arange(restarts, device=points.device)
        nearest = options[each, best]
        chosen.append(drawn[each, best][:, None])
    rows = torch.cat(chosen, 1)
    return torch.cat([held.expand(restarts, -1, -1), points[rows]], 1)


def nearest_square(points: Float[Tensor, "m d"], centroids: Float[Tensor, "k d"]) -> Float[Tensor, " m"]:
    """Return the squared distance of each point to the nearest centroid."""
    squares = centroids.square().sum(1)
    parts = [
        torch.addmm(squares[None], points[rows], centroids.T, alpha=-2).amin(1) + points[rows].square().sum(1)
        for rows in blocks(len(points), len(centroids))
    ]
    return torch.cat(parts).clamp_(min=0)


def _draw(weights: Float[Tensor, "r m"], count: int, generator: torch.Generator) -> Int[Tensor, "r c"]:
    """Draw `count` places per row in proportion to the weights; uniformly where all are zero."""
    level = torch.rand(len(weights), count, generator=generator, dtype=torch.float64).to(weights.device)
    edges = weights.cumsum(1, dtype=torch.float64)
    total = edges[:, -1:]
    places = torch.searchsorted(edges, level * total, right=True).clamp_(max=weights.shape[1] - 1)
    return torch.where(total > 0, places, (level * weights.shape[1]).long())


def _uniform(count: int, rows: int, generator: torch.Generator) -> Int[Tensor, " c"]:
    return torch.randint(rows, (count,), generator=generator)
