"""Some of a session's features, reduced: small enough to keep, enough to draw a map without the learner."""

import numpy as np
from jaxtyping import Float, Int

from metagcd.results import MAP_POINTS, MAP_ROWS
from metagcd.types import Array

IMAGES = 1500
"""Test images of a session that are kept, at most."""
DIMENSIONS = 32
"""Principal components of their features that are kept, at most."""


def sample(features: Float[Array, "n d"], truth: Int[Array, " n"]) -> dict[str, Array]:
    """Return the rows that were taken and their reduced features, under the names they are kept by.

    Nothing comes of features that are not finite.
    """
    if not features.size or not np.isfinite(features).all():
        return {}
    rows = balanced(truth, IMAGES)
    return {MAP_ROWS: rows.astype(np.int32), MAP_POINTS: principal(features[rows], DIMENSIONS).astype(np.float16)}


def balanced(truth: Int[Array, " n"], limit: int) -> Int[Array, " m"]:
    """Return at most `limit` rows in ascending order, the first ones of every class, as evenly as classes allow."""
    order = np.argsort(truth, kind="stable")
    _, start, count = np.unique(truth[order], return_index=True, return_counts=True)
    rank = np.empty(len(truth), dtype=np.int64)
    rank[order] = np.arange(len(truth)) - np.repeat(start, count)
    return np.sort(np.lexsort((truth, rank))[:limit])


def principal(features: Float[Array, "n d"], dimensions: int) -> Float[Array, "n k"]:
    """Return the first principal components (Pearson, 1901), scaled so that the largest entry has size one."""
    from scipy.linalg import eigh

    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    width = centred.shape[1]
    _, axes = eigh(centred.T @ centred, subset_by_index=(max(0, width - dimensions), width - 1))
    axes = axes[:, ::-1]
    # An axis may point either way: its largest entry is to be positive.
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    found = centred @ (axes * np.sign(largest))
    return found / max(float(np.abs(found).max()), np.finfo(np.float64).tiny)
