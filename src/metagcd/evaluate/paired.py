"""Is one method better than another over the same seeds?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from metagcd.errors import InputError
from metagcd.types import Array

EXACT = 20
"""Most pairs for which every sign pattern is tried (2^20); with more they are drawn."""
BATCH = 1000
"""Sign patterns drawn at a time."""
DRAWS = 100 * BATCH
"""Sign patterns drawn where there are too many to try all."""


@dataclass(frozen=True)
class Comparison:
    """The mean difference between two methods over seeds, and how surprising it is if there is none."""

    difference: float
    """Mean of first minus second."""
    t_p_value: float
    """Two-sided, paired t test; nan with fewer than two seeds or no spread."""
    sign_flip_p_value: float
    """Two-sided, over all flips of the signs of the differences."""


def compare(first: Float[Array, " s"], second: Float[Array, " z"], *, seed: int = 0) -> Comparison:
    """Compare two methods by their scores under the same seeds; `seed` serves only beyond 20 pairs."""
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise InputError(f"A paired comparison needs equal numbers of scores; got {first.shape} and {second.shape}.")
    difference = first - second
    return Comparison(float(difference.mean()), paired_t(difference), sign_flip(difference, seed=seed))


def paired_t(difference: Float[Array, " s"]) -> float:
    """Return the two-sided p-value of Student's paired test."""
    from scipy.stats import t

    if len(difference) < 2 or np.ptp(difference) == 0:
        return float("nan")
    statistic = difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference)))
    return float(2 * t.sf(abs(statistic), len(difference) - 1))


def sign_flip(difference: Float[Array, " s"], *, seed: int = 0) -> float:
    """Return the share of sign patterns whose sum is as far from zero as the observed (Fisher, 1935)."""
    pairs = len(difference)
    observed = abs(difference.sum()) * (1 - 1e-12)
    if pairs <= EXACT:
        sums = np.zeros(1)
        for value in difference:
            sums = np.concatenate([sums - value, sums + value])
        return float((abs(sums) >= observed).mean())
    rng = np.random.default_rng(seed)
    sums = np.concatenate([rng.choice([-1.0, 1.0], (BATCH, pairs)) @ difference for _ in range(DRAWS // BATCH)])
    # The observed pattern is one of those drawn, so that no p-value is zero.
    return float((1 + (abs(sums) >= observed).sum()) / (1 + DRAWS))
