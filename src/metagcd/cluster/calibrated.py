"""How many classes, by the price of merging two: measured where classes are known, applied where they are not.

Merging all rows step by step, each merge has a cost (`metagcd.cluster.ward`). Labelled rows tell at what price they
fall into as many groups as they have classes: above the dearest merge within that number, below the cheapest beyond it.
Any price between the two counts the known classes right; what these prices make of all rows, over resamples, is the
estimate (the median) and its interval.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from metagcd.cluster.lloyd import assign, cluster_sums
from metagcd.cluster.ward import merge_costs
from metagcd.types import Array

DRAWS = 10
"""Resamples of the rows."""
SHARE = 0.8
"""Part of the rows in a resample."""
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Prices tried between the least and the largest, as parts of the way in the logarithm."""
GROWTH = 0.5
"""Power of the size of a class with which the price grows: half-way between noise and distance (docs/counting.md)."""
GUESS = 1.4
"""Classes that are guessed at first, over those known."""
TAIL = 0.05
"""Part of the answers on either side of the interval."""
PIECES = 2000
"""Most pieces that are merged, as the time grows with their square; more rows are first brought together to so many."""
EVENING = 0.25
"""Power of the variance within classes that directions are divided by; at 1/2 all would count alike."""
WIDTH = 128
"""Most directions in which classes are told apart: the principal components of the rows."""
ALONE = 4.0
"""How much dearer than within is a merge between classes, where only one class is known."""


@dataclass(frozen=True)
class NumberOfClasses:
    """An estimate, and the interval around it."""

    k: int
    low: int
    high: int


@dataclass(frozen=True)
class Price:
    """What merging two classes costs, at least and at most, where classes have so many rows."""

    least: float
    most: float
    size: float

    def at(self, level: float, size: float) -> float:
        """Return the price between the two ends, in the logarithm, for classes of this size.

        What merging costs grows with the rows where classes lie far apart, and hardly where it is the cost of noise.
        """
        return self.least ** (1 - level) * self.most**level * (size / self.size) ** GROWTH


@dataclass(frozen=True)
class Sizes:
    """The rows that are merged, the classes known among or beside them, and the groups that are left at the end."""

    rows: int
    known: int
    left: int


def price_of(x: Float[Array, "n d"], labels: Int[Array, " n"], *, seed: int) -> Price:
    """Return the price of merging two classes of labelled rows: the mean over resamples, in the logarithm."""
    rng = np.random.default_rng(seed)
    found = [one_price(x[rows], labels[rows]) for rows in (_drawn(len(x), rng) for _ in range(DRAWS))]
    least, most = np.exp(np.log([(price.least, price.most) for price in found]).mean(axis=0))
    return Price(float(least), float(most), float(np.mean([price.size for price in found])))


def one_price(x: Float[Array, "n d"], labels: Int[Array, " n"]) -> Price:
    """Return the costs of the last merge that leaves as many groups as there are classes, and of the next one."""
    classes, tiny = len(np.unique(labels)), float(np.finfo(np.float64).tiny)
    costs = np.append(merge_costs(*pieces(x)), 0.0)
    least = max(float(costs[min(classes, len(costs)) - 1]), tiny)
    most = max(float(costs[classes - 2]), least) if classes > 1 else ALONE * least
    return Price(least, most, len(x) / classes)


def count_novel(
    x: Float[Array, "n d"], means: Float[Array, "c d"], counts: Array, price: Price, *, seed: int
) -> NumberOfClasses:
    """Count the classes among rows beside the known ones, of which only means and numbers of images are kept.

    Known classes need not be among the rows: what merges with a known mean is of that class, and what does not, at the
    price, is new.
    """
    rng = np.random.default_rng(seed)
    answers: list[int] = []
    for rows in (_drawn(len(x), rng) for _ in range(DRAWS)):
        points, weights = pieces(x[rows])
        costs = merge_costs(np.concatenate([means, points]), np.concatenate([counts, weights]), apart=len(means))
        sizes = Sizes(len(rows), len(means), len(means))
        answers += [counted(costs, sizes, price, level) - len(means) for level in LEVELS]
    return spread(answers)


def count_all(x: Float[Array, "n d"], labels: Int[Array, " n"], *, low: int, high: int, seed: int) -> NumberOfClasses:
    """Count the classes among rows of which some are labelled (-1: not), from `low` to `high`."""
    rng = np.random.default_rng(seed)
    classes, x = np.unique(labels[labels >= 0]), narrowed(x)
    answers: list[int] = []
    for rows in (_drawn(len(x), rng) for _ in range(DRAWS)):
        points, own = x[rows], labels[rows]
        known = own >= 0
        # Half of the classes shape the space in which all of them are merged, as known classes do it for novel ones.
        half = np.isin(own, rng.permutation(classes)[: (len(classes) + 1) // 2])
        price = one_price(points[known] @ evened(points[half], own[half]), own[known])
        costs = merge_costs(*pieces(points @ evened(points[known], own[known])))
        answers += [counted(costs, Sizes(len(rows), len(classes), 1), price, level) for level in LEVELS]
    return spread([min(max(answer, low), high) for answer in answers])


def counted(costs: Float[Array, " m"], sizes: Sizes, price: Price, level: float) -> int:
    """Return how many groups are left when all merges have been made that cost less than the price.

    The price depends on the size of a class, so on the number sought: it is that of a guess, then of what this gives.
    """
    guess, found = GUESS * sizes.known, 0
    for _ in range(2):
        found = sizes.left + int((costs > price.at(level, sizes.rows / guess)).sum())
        guess = max(found, sizes.known)
    return found


def evened(x: Float[Array, "n d"], labels: Int[Array, " n"]) -> Float[Array, "d d"]:
    """Return the map that takes the spread within classes half-way to being equal in every direction."""
    from sklearn.covariance import ledoit_wolf

    classes, places = np.unique(labels, return_inverse=True)
    means = np.stack([x[labels == label].mean(axis=0) for label in classes])
    covariance = ledoit_wolf(x - means[places], assume_centered=True)[0]
    variances, axes = np.linalg.eigh(covariance)
    return axes * np.maximum(variances, np.finfo(np.float32).eps * variances[-1]) ** -EVENING


def narrowed(x: Float[Array, "n d"]) -> Float[Array, "n w"]:
    """Return the rows in double precision about their mean, along their first principal components."""
    points = x.astype(np.float64) - x.mean(axis=0)
    if points.shape[1] <= WIDTH:
        return points
    return points @ np.linalg.eigh(points.T @ points)[1][:, -WIDTH:]


def pieces(x: Float[Array, "n d"]) -> tuple[Float[Array, "p d"], Float[Array, " p"]]:
    """Return the rows, or the means of so many small groups of them as can be merged, and how many rows each has.

    Rows come in random order, so that the first are as good as any to gather the others around.
    """
    if len(x) <= PIECES:
        return x, np.ones(len(x))
    points = torch.from_numpy(np.ascontiguousarray(x))
    sums, counts = cluster_sums(points, assign(points, points[None, :PIECES])[0], PIECES)
    held = counts[0] > 0
    return (sums[0][held] / counts[0][held, None]).numpy(), counts[0][held].numpy()


def spread(answers: list[int]) -> NumberOfClasses:
    """Return the median of the answers, and the interval that leaves out as many on either side."""
    low, k, high = np.quantile(answers, [TAIL, 0.5, 1 - TAIL])
    return NumberOfClasses(round(float(k)), int(np.floor(low)), int(np.ceil(high)))


def _drawn(rows: int, rng: np.random.Generator) -> Int[Array, " m"]:
    return rng.permutation(rows)[: max(2, round(SHARE * rows))]
