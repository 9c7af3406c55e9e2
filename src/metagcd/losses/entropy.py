"""Entropies of the mean prediction: no class, and no group of classes, is to go without images.

Everything is computed from logarithms of probabilities, so that a class without any probability gives finite gradients.
"""

import math
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, stack

from metagcd.losses._cross_entropy import check_positive


class GroupEntropy(NamedTuple):
    """What three entropies lack to be as large as they can be; each is zero where it says nothing."""

    between: Float[Tensor, ""]
    """Of the probability of all old classes together, and of all new ones."""
    old: Float[Tensor, ""]
    """Of the old classes among one another."""
    new: Float[Tensor, ""]
    """Of the new classes among one another."""


def mean_entropy(logits: Float[Tensor, "m c"], *, temperature: float) -> Float[Tensor, ""]:
    """Return log c less the entropy of the mean prediction, zero where all classes get the same (SimGCD)."""
    return _lacking(_log_mean(logits, temperature))


def group_entropy(logits: Float[Tensor, "m c"], old: int, *, temperature: float) -> GroupEntropy:
    """Return `mean_entropy` in groups: the first `old` classes, the others, and one against the other (Happy).

    Where one of the groups is empty, there is nothing between them; within a group of one class, nothing either.
    """
    if not 0 <= old <= logits.shape[1]:
        raise ValueError(f"`old` must be in [0, {logits.shape[1]}]; got {old}.")
    log_p, nothing = _log_mean(logits, temperature), logits.new_zeros(())
    first, second = log_p[:old], log_p[old:]
    if len(first) == 0 or len(second) == 0:
        whole = _lacking(log_p)
        return GroupEntropy(nothing, whole if len(first) else nothing, whole if len(second) else nothing)
    mass = stack([first.logsumexp(dim=0), second.logsumexp(dim=0)])
    return GroupEntropy(_lacking(mass), _lacking(first - mass[0]), _lacking(second - mass[1]))


def _log_mean(logits: Float[Tensor, "m c"], temperature: float) -> Float[Tensor, " c"]:
    """Return the logarithm of the mean over rows of softmax(logits / temperature)."""
    check_positive("temperature", temperature)
    if 0 in logits.shape:
        raise ValueError(f"The mean prediction needs rows and classes; got {tuple(logits.shape)}.")
    return (logits / temperature).log_softmax(dim=1).logsumexp(dim=0) - math.log(len(logits))


def _lacking(log_p: Float[Tensor, " c"]) -> Float[Tensor, ""]:
    return math.log(len(log_p)) + (log_p.exp() * log_p).sum()
