"""What the clustering functions accept, and the matrix they work on."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.errors import InputError
from metagcd.types import Array

BLOCK = 1 << 22
"""Most numbers in one temporary block (16 MiB in single precision): bounded memory, and near the cache."""


@dataclass(frozen=True)
class KMeans:
    """What k-means found; arrays for arrays, tensors for tensors."""

    labels: Int[Array, " n"] | Int[Tensor, " n"]
    centroids: Float[Array, "k d"] | Float[Tensor, "k d"]
    inertia: float
    """Sum of the squared distances of the points to their centroids."""
    rounds: int
    """Rounds over all points that the run which was kept took."""


def as_points(x: Array | Tensor) -> Float[Tensor, "n d"]:
    """Return the rows as a tensor in single or double precision, without copying where it can; refuse bad numbers."""
    points = torch.from_numpy(x) if not isinstance(x, Tensor) else x.detach()
    if points.ndim != 2:
        raise InputError(f"Clustering needs a table of shape (points, features); got shape {tuple(points.shape)}.")
    if points.dtype not in (torch.float32, torch.float64):
        points = points.float()
    # One sum tells; only a sum that is not finite is worth a look at every row.
    if not math.isfinite(float(points.sum(dtype=torch.float64))):
        bad = int((~points.isfinite()).any(1).sum())
        if bad:
            raise InputError(f"{bad} of {len(points)} rows hold NaN or infinite numbers; remove or mend them.")
    return points


def check_counts(rows: int, k: int, restarts: int = 1) -> None:
    """Refuse a number of clusters or restarts that cannot be."""
    if k < 1:
        raise InputError(f"The number of clusters must be at least 1; got {k}.")
    if k > rows:
        raise InputError(f"Cannot find {k} clusters in {rows} rows; ask for {rows} at most.")
    if restarts < 1:
        raise InputError(f"The number of restarts must be at least 1; got {restarts}.")


def unit_rows(points: Float[Tensor, "*r d"]) -> Float[Tensor, "*r d"]:
    """Return the rows at length one; a row of zeros stays."""
    return torch.nn.functional.normalize(points, dim=-1)


def blocks(rows: int, width: int) -> list[slice]:
    """Return slices over the rows whose product with `width` stays within a block."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
