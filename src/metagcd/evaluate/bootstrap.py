"""Confidence intervals by drawing the images again (Efron, 1979)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from metagcd.errors import InputError
from metagcd.types import Array


@dataclass(frozen=True)
class Interval:
    """A value and the interval that holds it with the asked confidence."""

    value: float
    low: float
    high: float


def bootstrap(
    statistic: Callable[[Int[Array, " n"]], float], n: int, *, seed: int, draws: int = 1000, confidence: float = 0.95
) -> Interval:
    """Return the percentile interval of a statistic of row numbers, over draws of `n` rows with replacement.

    For an accuracy pass `lambda rows: right[rows].mean()` with the map of clusters to classes held fixed, or score the
    drawn rows anew to let the map vary too. Draws whose statistic is nan are left out.
    """
    if n < 1 or draws < 1 or not 0 < confidence < 1:
        raise InputError(
            f"A bootstrap needs rows, draws and a confidence between 0 and 1; got {n}, {draws} and {confidence}."
        )
    rng = np.random.default_rng(seed)
    values = np.array([statistic(rng.integers(n, size=n)) for _ in range(draws)])
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(float("nan"), float("nan"), float("nan"))
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(statistic(np.arange(n))), float(low), float(high))
