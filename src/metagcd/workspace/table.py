"""From features to the statistics of classes, and on with every session."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from metagcd.cluster import prototypes
from metagcd.cluster.points import as_points, blocks
from metagcd.errors import InputError
from metagcd.types import Array
from metagcd.workspace.types import ClassTable


def table_of(features: Float[Array, "n d"], labels: Int[Array, " n"], ids: tuple[str, ...]) -> ClassTable:
    """Return the table of taught classes; label i is the class `ids[i]`, and each needs an image.

    The spread of a class with a single image is the one that all others have together.
    """
    points, places = as_points(features), torch.from_numpy(labels).long()
    means, counts = prototypes(points, places, n_classes=len(ids))
    if len(ids) == 0 or int(counts.min()) == 0:
        missing = [name for name, count in zip(ids, counts.tolist(), strict=True) if count == 0]
        raise InputError(f"Every class needs an image; there is none of {', '.join(missing) or 'any class'}.")
    squares = squared_residuals(points, means, places)
    sums = torch.zeros(len(ids), dtype=torch.float64).index_add_(0, places, squares.double()).numpy()
    number = counts.numpy()
    return ClassTable(
        ids=ids,
        means=means.numpy(),
        spreads=spreads(sums, number),
        counts=number,
        known=np.ones(len(ids), dtype=np.bool_),
    )


def spreads(sums: Float[Array, " c"], counts: Int[Array, " c"]) -> Float[Array, " c"]:
    """Return the spreads of classes whose squared distances to their means add up to `sums`."""
    pooled = sums.sum() / max(1, int((counts - 1).sum()))
    return np.sqrt(np.where(counts > 1, sums / np.maximum(counts - 1, 1), pooled))


def squared_residuals(
    points: Float[Tensor, "n d"], means: Float[Tensor, "c d"], places: Int[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """Return the squared distance of every point to the mean of its class."""
    parts = [
        (points[rows] - means[places[rows]]).square().sum(1) for rows in blocks(len(points), max(1, points.shape[1]))
    ]
    return torch.cat(parts) if parts else points.new_zeros(0)


def refined(
    table: ClassTable,
    features: Float[Array, "n d"],
    places: Int[Array, " n"],
    sure: Bool[Array, " n"],
    *,
    narrowing: float,
) -> ClassTable:
    """Return the table with means and spreads drawn towards those of the images that are sure to belong.

    Sure images lie nearer to their mean than others do; `narrowing` is the part of the squared distance that they
    have on average, and is made up for. No session counts for more than all images before it, so that one bad batch
    moves a class half of the way at most.
    """
    if not sure.any():
        return table
    points, own = as_points(features[sure]), torch.from_numpy(places[sure])
    fresh, number = prototypes(points, own, n_classes=len(table))
    squares = squared_residuals(points, fresh, own)
    sums = torch.zeros(len(table), dtype=torch.float64).index_add_(0, own, squares.double()).numpy() / narrowing
    met, held = number.numpy(), table.counts
    added = np.minimum(met, held)
    share = added / np.maximum(held + added, 1)
    means = table.means + share[:, None].astype(table.means.dtype) * (fresh.numpy() - table.means)
    variance = table.spreads**2
    seen = np.where(met > 1, sums / np.maximum(met - 1, 1), variance)
    return ClassTable(
        ids=table.ids,
        means=np.where(met[:, None] > 0, means, table.means),
        spreads=np.sqrt(variance + share * (seen - variance)),
        counts=held + added,
        known=table.known,
    )
