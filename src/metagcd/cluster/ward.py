"""What it costs to merge points step by step, the cheapest merge first (Ward, 1963)."""

import numpy as np
from jaxtyping import Float
from scipy.cluster.hierarchy import linkage

from metagcd.types import Array


def merge_costs(
    points: Float[Array, "n d"], weights: Float[Array, " n"] | None = None, *, apart: int = 0
) -> Float[Array, " m"]:
    """Return by how much each merge raises the sum of squares about the means, the dearest first.

    A weighted point stands for so many in one place. The first `apart` points are never merged with one another, so
    that what is left at the end is one group around each of them.
    """
    even = weights is None or bool((weights == 1).all())
    if even and apart == 0:
        if len(points) < 2:
            return np.empty(0)
        return np.sort(linkage(points, "ward")[:, 2] ** 2 / 2)[::-1]
    each = np.ones(len(points)) if weights is None else weights.astype(np.float64)
    return np.sort(_merged(points.astype(np.float64), each, apart))[::-1]


def _merged(points: Array, weights: Array, apart: int) -> Array:
    """Merge the cheapest pair until none may be merged; a group takes the lower of two places."""
    cost, weights = pair_costs(points, weights), weights.copy()
    np.fill_diagonal(cost, np.inf)
    cost[:apart, :apart] = np.inf
    nearest = cost.argmin(axis=1)
    least = cost[np.arange(len(points)), nearest]
    paid: list[float] = []
    for _ in range(len(points) - max(apart, 1)):
        one = int(least.argmin())
        i, j = sorted((one, int(nearest[one])))
        paid.append(float(least[one]))
        # Lance and Williams' update for Ward's cost; a pair that must stay apart has an infinite cost, and keeps it.
        row = ((weights + weights[i]) * cost[i] + (weights + weights[j]) * cost[j] - weights * paid[-1]) / (
            weights + weights[i] + weights[j]
        )
        row[[i, j]] = np.inf
        cost[i], cost[:, i], cost[j], cost[:, j] = row, row, np.inf, np.inf
        weights[i] += weights[j]
        least[j] = np.inf
        # Merging brings no two groups closer than they were, so only who lost its nearest has to look again.
        stale = np.append(np.flatnonzero(((nearest == i) | (nearest == j)) & np.isfinite(least)), i)
        nearest[stale] = cost[stale].argmin(axis=1)
        least[stale] = cost[stale, nearest[stale]]
    return np.array(paid)


def pair_costs(points: Array, weights: Array) -> Array:
    """Return what merging each two points costs: their squared distance times half their harmonic mean weight."""
    squares = (points**2).sum(axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0)
    return distance * weights[:, None] * weights / (weights[:, None] + weights)
