"""How many classes are there? Three answers, of which the default is calibrated on the classes that are known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Int

from metagcd.cluster.assignment import apply, match
from metagcd.cluster.calibrated import NumberOfClasses, count_all
from metagcd.cluster.kmeans import as_array, kmeans
from metagcd.errors import InputError, unknown_name
from metagcd.types import Array

Method: TypeAlias = Literal["calibrated", "labelled", "silhouette"]

DRAWS = 5
"""Resamples of the rows."""
SHARE = 0.8
"""Part of the rows in a resample."""
SILHOUETTE_ROWS = 2000
"""Most rows whose silhouette is taken: it compares all pairs."""
RESTARTS = 3
"""Restarts of k-means for each number of clusters."""
GRID = 12
"""Numbers of clusters tried at a time, before looking closer around the best."""
EQUAL = 3
"""Decimals to which accuracies count as equal in the labelled search."""


@dataclass(frozen=True)
class Quality:
    """How well the clusters hold the labelled classes apart, and how far apart they are: larger is better."""

    accuracy: float
    """Of the labelled rows, under the best map; 1 where there are none."""
    silhouette: float


Score: TypeAlias = Callable[[Quality], float]


def estimate_classes(
    x: Array,
    *,
    known_labels: Int[Array, " m"] | None = None,
    low: int,
    high: int,
    seed: int,
    method: Method = "calibrated",
) -> NumberOfClasses:
    """Estimate the number of classes among the rows of `x`, from `low` to `high`; both included.

    `known_labels` has a class id per row, -1 where there is none. "calibrated" merges rows while that costs less than
    merging two known classes does (`metagcd.cluster.calibrated`); without labels it is the silhouette. "silhouette"
    takes the number of clusters with the largest silhouette. "labelled" takes the one whose clusters match the labelled
    classes best (the search of Vaze et al., 2022), ties going to the larger silhouette. Of these two the estimate is
    the one for the mean score over resamples; `low` and `high` are the least and largest that a resample prefers.
    """
    labels = np.full(len(x), -1) if known_labels is None else known_labels
    _check(x, labels, low, high, method)
    if method == "calibrated":
        if (labels >= 0).any():
            return count_all(x, labels, low=low, high=high, seed=seed)
        method = "silhouette"
    rng = np.random.default_rng(seed)
    size = max(high, round(SHARE * len(x)))
    draws = [np.sort(rng.choice(len(x), size, replace=False)) for _ in range(DRAWS)]
    score = SCORES[method]

    @cache
    def scores(k: int) -> Array:
        """Return the score of every resample at k clusters."""
        return np.array([score(quality(x[rows], labels[rows], k, seed=seed + draw)) for draw, rows in enumerate(draws)])

    best = peak(lambda k: float(scores(k).mean()), low, high)
    tried = [k for k in range(low, high + 1) if k in best.tried]
    table = np.stack([scores(k) for k in tried])
    each = [tried[place] for place in table.argmax(0)]
    return NumberOfClasses(best.k, min(best.k, *each), max(best.k, *each))


@dataclass(frozen=True)
class Peak:
    """Where a score is largest, and where it was looked at."""

    k: int
    tried: frozenset[int]


def peak(score: Callable[[int], float], low: int, high: int) -> Peak:
    """Find the largest score on the integers from low to high: on a grid, then on finer ones around the best.

    The smallest number wins a tie. Exact where the range is no wider than the grid or the score has a single peak.
    """
    found: dict[int, float] = {}
    left, right = low, high
    while True:
        grid = sorted({round(value) for value in np.linspace(left, right, min(GRID, right - left + 1))})
        found |= {k: score(k) for k in grid if k not in found}
        best = max(found, key=lambda k: (found[k], -k))
        if grid == list(range(left, right + 1)):
            return Peak(best, frozenset(found))
        below = [k for k in found if k < best]
        above = [k for k in found if k > best]
        left, right = max(below, default=best), min(above, default=best)


def quality(x: Array, labels: Int[Array, " n"], k: int, *, seed: int) -> Quality:
    """Cluster into k groups and measure."""
    clusters = as_array(kmeans(x, k, seed=seed, restarts=RESTARTS).labels)
    known = labels >= 0
    truth, predicted = labels[known], clusters[known]
    no_class = np.iinfo(np.int64).min
    right = apply(match(truth, predicted), predicted, missing=no_class) == truth
    return Quality(float(right.mean()) if len(right) else 1.0, silhouette(x, clusters, seed=seed))


def silhouette(x: Array, clusters: Int[Array, " n"], *, seed: int) -> float:
    """Return the mean silhouette (Rousseeuw, 1987) of some rows; 0 where it is not defined."""
    from sklearn.metrics import silhouette_score

    rows = np.random.default_rng(seed).permutation(len(x))[:SILHOUETTE_ROWS]
    if not 1 < len(np.unique(clusters[rows])) < len(rows):
        return 0.0
    return float(silhouette_score(x[rows], clusters[rows]))


def _labelled(measured: Quality) -> float:
    # Silhouettes lie in [-1, 1], so that a tenth of the last decimal orders only what is equal.
    return round(measured.accuracy, EQUAL) + measured.silhouette * 10.0 ** -(EQUAL + 1)


def _silhouette(measured: Quality) -> float:
    return measured.silhouette


SCORES: dict[str, Score] = {"labelled": _labelled, "silhouette": _silhouette}


def _check(x: Array, labels: Array, low: int, high: int, method: str) -> None:
    if method not in ("calibrated", *SCORES):
        raise unknown_name("method", method, ("calibrated", *SCORES))
    if not 1 <= low <= high <= len(x):
        raise InputError(f"The number of classes must be sought between 1 and the {len(x)} rows; got {low} to {high}.")
    if len(labels) != len(x):
        raise InputError(f"There are {len(labels)} known labels for {len(x)} rows; give -1 where there is none.")
    known: Any = np.unique(labels[labels >= 0])
    if len(known) > high:
        raise InputError(f"{len(known)} classes are labelled already; `high` = {high} is too small.")
    if method == "labelled" and not len(known):
        raise InputError('The method "labelled" needs known labels; use "silhouette".')
