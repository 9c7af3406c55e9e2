"""Known or novel: how well a score of novelty tells them apart."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import rankdata

from metagcd.errors import InputError
from metagcd.types import Array


@dataclass(frozen=True)
class Detection:
    """How well novel images are told from known ones; nan where one of the two is missing."""

    auroc: float
    """Chance that a novel image scores above a known one, in percent."""
    fpr95: float
    """Known images taken for novel at the threshold that finds 95 % of the novel ones, in percent."""


def detection(novel: Bool[Array, " n"], score: Float[Array, " m"]) -> Detection:
    """Score a novelty score, larger meaning more novel."""
    if len(novel) != len(score):
        raise InputError(f"There are {len(score)} novelty scores for {len(novel)} images.")
    found = int(novel.sum())
    others = len(novel) - found
    if not found or not others:
        return Detection(float("nan"), float("nan"))
    # Mann and Whitney's U: ties count one half.
    above = rankdata(score)[novel].sum() - found * (found + 1) / 2
    threshold = np.sort(score[novel])[::-1][int(np.ceil(0.95 * found - 1e-9)) - 1]
    return Detection(float(100 * above / (found * others)), float(100 * (score[~novel] >= threshold).mean()))
