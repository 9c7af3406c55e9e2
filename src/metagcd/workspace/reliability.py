"""Does an image said to be right with a probability of 0.8 turn out right in 8 of 10 cases?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from metagcd.errors import InputError
from metagcd.types import Array

BINS = 15
"""Bins of equal width; as Guo et al. (2017)."""


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """A reliability diagram; bins without weight have confidence and accuracy NaN."""

    edges: Float[Array, " e"]
    confidence: Float[Array, " b"]
    """Mean stated confidence in each bin."""
    accuracy: Float[Array, " b"]
    """Share that was right in each bin."""
    counts: Int[Array, " b"]
    """Cases in each bin."""
    ece: float
    """Expected calibration error: mean distance of confidence and accuracy, bins counting by their weight."""


def reliability(
    confidence: Float[Array, " n"], right: Bool[Array, " m"], weights: Float[Array, " n"] | None = None
) -> Reliability:
    """Return the reliability diagram of stated confidences; NaN as its error where there are none."""
    if len(confidence) != len(right):
        raise InputError(f"There are {len(confidence)} confidences for {len(right)} outcomes.")
    weights = np.ones(len(right)) if weights is None else weights
    place = np.clip((confidence * BINS).astype(np.int64), 0, BINS - 1)
    weight, stated, met = (
        np.bincount(place, values, BINS) for values in (weights, weights * confidence, weights * right)
    )
    filled = np.where(weight > 0, weight, np.nan)
    return Reliability(
        edges=np.linspace(0, 1, BINS + 1),
        confidence=stated / filled,
        accuracy=met / filled,
        counts=np.bincount(place, minlength=BINS),
        ece=float(np.abs(stated - met).sum() / weight.sum()) if weight.sum() > 0 else float("nan"),
    )
