"""How near images are to the classes of a table: what every later decision is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from metagcd.cluster.points import as_points, blocks
from metagcd.types import Array
from metagcd.workspace.types import ClassTable

FLOOR = 0.3
"""Least spread of a class beside the typical one: copies of one image make a class that nothing else would be in."""
PRIOR_IMAGES = 4.0
"""Images that the typical spread counts for beside a class's own; our choice."""
FARTHEST = 100.0
"""Most that the second class counts as farther than the first, in squared distance; a single class has no second."""
TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Nearness:
    """The nearest class of every image."""

    place: Int[Array, " n"]
    reach: Float[Array, " n"]
    """Logarithm of the squared distance to its mean, over what is usual in the typical class."""
    depth: Float[Array, " n"]
    """The same over what is usual in this class: 0 is an image like the others."""
    margin: Float[Array, " n"]
    """Logarithm of the squared distance of the second nearest mean over that of the nearest."""
    share: Float[Array, " n"]
    """Probability of the nearest class beside all others, by distance at the temperature asked for."""
    beyond: Float[Array, " n"]
    """Probability, in the same way, of a class after the first `first` ones of the table."""

    def rows(self, chosen: Int[Array, " r"] | Bool[Array, " n"]) -> "Nearness":
        """Return some of the images."""
        return Nearness(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


def stacked(parts: Sequence[Nearness]) -> Nearness:
    """Return the images of all parts, one after the other."""
    return Nearness(
        **{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Nearness)}
    )


def typical_variance(table: ClassTable) -> float:
    """Return the squared spread of the middle class among the taught ones, among all where none is taught."""
    chosen = table.known if table.known.any() else np.ones(len(table), dtype=np.bool_)
    return float(np.median(table.spreads[chosen].astype(np.float64) ** 2)) + TINY if len(table) else TINY


def usual_variances(table: ClassTable) -> Float[Array, " c"]:
    """Return the squared spreads of the classes, those of few images drawn towards the typical one."""
    own = np.maximum(table.counts - 1, 0)
    typical = typical_variance(table)
    mixed = (own * table.spreads.astype(np.float64) ** 2 + PRIOR_IMAGES * typical) / (own + PRIOR_IMAGES)
    return np.maximum(mixed, FLOOR**2 * typical)


@dataclass(frozen=True, kw_only=True)
class Own:
    """Images that are among those a mean was taken of, and would otherwise be nearer to it than fresh ones."""

    place: Int[Array, " n"]
    """Row of the class; -1 for an image that no mean was taken of."""
    stretch: Float[Array, " n"]
    """How much longer the squared distance would be with the image left out of the mean."""


def nearness(
    features: Float[Array, "n d"],
    table: ClassTable,
    *,
    temperature: float,
    first: int | None = None,
    own: Own | None = None,
) -> Nearness:
    """Measure every image against every class, block by block; the table has one class at least."""
    points, means = as_points(features), as_points(table.means.astype(features.dtype))
    usual, typical = torch.from_numpy(usual_variances(table)), typical_variance(table)
    # The mean of n images is itself uncertain by one part in n of the variance.
    doubt = torch.from_numpy(1 + 1 / np.maximum(table.counts, 1))
    frame = _Frame(means, 2 * temperature * typical, len(table) if first is None else first)
    parts = [_block(points[rows], frame, own, rows) for rows in blocks(len(points), len(table))]
    place, nearest, ratio, share, beyond = (
        (torch.cat(column) for column in zip(*parts, strict=True)) if parts else _nothing()
    )
    return Nearness(
        place=place.numpy(),
        reach=(nearest / (typical * doubt[place])).log().numpy(),
        depth=(nearest / (usual * doubt)[place]).log().numpy(),
        margin=ratio.clamp(max=FARTHEST).log().numpy(),
        share=share.numpy(),
        beyond=beyond.numpy(),
    )


@dataclass(frozen=True)
class _Frame:
    means: Float[Tensor, "c d"]
    scale: float
    first: int


def _block(points: Float[Tensor, "b d"], frame: _Frame, own: Own | None, rows: slice) -> tuple[Tensor, ...]:
    squares = torch.cdist(points, frame.means).double().square().clamp(min=TINY)
    if own is not None:
        place = torch.from_numpy(own.place[rows])
        stretch = torch.where(place >= 0, torch.from_numpy(own.stretch[rows]), 1.0)
        squares.scatter_reduce_(1, place.clamp(min=0)[:, None], stretch[:, None], "prod")
    least, order = squares.topk(min(2, squares.shape[1]), largest=False)
    nearest = least[:, 0]
    second = least[:, 1] if squares.shape[1] > 1 else nearest * FARTHEST
    odds = ((nearest[:, None] - squares) / frame.scale).exp()
    total = odds.sum(1)
    return order[:, 0], nearest, second / nearest, 1 / total, odds[:, frame.first :].sum(1) / total


def _nothing() -> tuple[Tensor, ...]:
    empty = torch.zeros(0, dtype=torch.float64)
    return torch.zeros(0, dtype=torch.int64), empty, empty, empty, empty
