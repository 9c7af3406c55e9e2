"""Scores over the sessions of a run: what was forgotten, what was discovered, and the averages."""

from collections.abc import Sequence

import numpy as np

from metagcd.errors import InputError
from metagcd.evaluate.accuracy import Accuracy


def forgetting(known: Sequence[float]) -> float:
    """Return M_f: the largest drop of the accuracy on known classes after session 0, in points.

    `known` starts with session 0. Never below zero: a learner that only gains has forgotten nothing.
    """
    if not known:
        raise InputError("Forgetting needs the accuracy on known classes after session 0 at least.")
    return max(0.0, known[0] - min(known))


def discovery(novel: Sequence[float]) -> float:
    """Return M_d: the accuracy on novel classes after the last session."""
    if not novel:
        raise InputError("Discovery needs the accuracy on novel classes of one session at least.")
    return novel[-1]


def session_average(scores: Sequence[Accuracy]) -> Accuracy:
    """Return mA, mO and mN: the means over sessions, each over the sessions that have such images."""
    return Accuracy(
        _mean([score.all for score in scores]),
        _mean([score.old for score in scores]),
        _mean([score.new for score in scores]),
    )


def _mean(values: list[float]) -> float:
    present = [value for value in values if not np.isnan(value)]
    return float(np.mean(present)) if present else float("nan")
