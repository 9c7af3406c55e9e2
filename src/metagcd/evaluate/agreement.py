"""How far two partitions of the same images agree, whatever their clusters are called."""

from typing import Any

import numpy as np
from jaxtyping import Int

from metagcd.cluster.assignment import contingency
from metagcd.types import Array


def normalised_mutual_information(truth: Int[Array, " n"], predicted: Int[Array, " m"]) -> float:
    """Return the mutual information over the mean of both entropies; 1 where both have a single cluster."""
    table = contingency(truth, predicted)[0]
    if min(table.shape) < 2:
        return float(max(table.shape) < 2)
    joint = table / table.sum()
    apart = np.outer(joint.sum(1), joint.sum(0))
    met = joint > 0
    shared = float((joint[met] * np.log(joint[met] / apart[met])).sum())
    return max(0.0, 2 * shared / (_entropy(joint.sum(0)) + _entropy(joint.sum(1))))


def adjusted_rand_index(truth: Int[Array, " n"], predicted: Int[Array, " m"]) -> float:
    """Return the share of pairs treated alike, adjusted for chance (Hubert and Arabie, 1985)."""
    table = contingency(truth, predicted)[0]
    together = _pairs(table).sum()
    clusters, classes, every = _pairs(table.sum(1)).sum(), _pairs(table.sum(0)).sum(), _pairs(table.sum())
    chance = clusters * classes / every if every else 0.0
    highest = (clusters + classes) / 2
    return float((together - chance) / (highest - chance)) if highest != chance else 1.0


def _entropy(shares: Array) -> float:
    return float(-(shares * np.log(shares)).sum())


def _pairs(counts: Any) -> Any:
    return counts * (counts - 1) / 2
