"""Calibrate a judge on session 0, where hidden classes play the part of new ones."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from metagcd.types import Array
from metagcd.workspace.nearness import Nearness, nearness, stacked
from metagcd.workspace.types import ClassTable

FOLDS = 5
"""Parts of the classes that are hidden in turn."""
PRIOR = 1 / 3
"""Share of novel images that the novelty is calibrated at; a session tells its own (`sort_session`)."""
TEMPERATURES = np.geomspace(0.003, 3.0, 25)
"""Temperatures tried: at 1 the means would be those of spherical Gaussians whose every axis has the whole spread."""
TEMPERATURE_IMAGES = 4096
"""Most images that the temperature is chosen on."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Held-out images under the table, and under tables from which their own classes were hidden."""

    near: Nearness
    novel: Bool[Array, " n"]
    right: Bool[Array, " n"]
    """Whether the nearest class is theirs."""
    weights: Float[Array, " n"]
    """So that hidden ones weigh `PRIOR` of all."""

    @property
    def columns(self) -> Float[Array, "n 3"]:
        """Return what the novelty is made of."""
        return np.stack([self.near.reach, self.near.depth, self.near.margin], axis=1)

    def rows(self, chosen: Bool[Array, " n"]) -> "Examples":
        """Return some of the examples."""
        return Examples(
            near=self.near.rows(chosen),
            novel=self.novel[chosen],
            right=self.right[chosen],
            weights=self.weights[chosen],
        )


def examples(
    features: Float[Array, "n d"], labels: Int[Array, " n"], table: ClassTable, *, temperature: float, seed: int
) -> Examples:
    """Look at held-out images once with all classes known, and once with a fold of classes hidden, their own in it."""
    parts = [nearness(features, table, temperature=temperature)]
    owners = [labels]
    fold = np.random.default_rng(seed).permutation(len(table)) % min(FOLDS, len(table))
    for hidden in range(int(fold.max(initial=0)) + 1):
        kept, rows = np.flatnonzero(fold != hidden), fold[labels] == hidden
        if len(kept) and rows.any():
            parts.append(nearness(features[rows], table.rows(kept), temperature=temperature))
            owners.append(np.full(int(rows.sum()), -1))
    truth = np.concatenate(owners)
    novel = truth < 0
    weights = np.where(novel, PRIOR / max(int(novel.sum()), 1), (1 - PRIOR) / max(len(labels), 1))
    near = stacked(parts)
    return Examples(near=near, novel=novel, right=near.place == truth, weights=weights * len(truth))


def chosen_temperature(
    features: Float[Array, "n d"], labels: Int[Array, " n"], table: ClassTable, *, seed: int
) -> float:
    """Return the temperature at which the probability of the nearest class is most often borne out."""
    rows = np.random.default_rng(seed).permutation(len(labels))[:TEMPERATURE_IMAGES]
    best, least = 1.0, np.inf
    for temperature in TEMPERATURES:
        near = nearness(features[rows], table, temperature=float(temperature))
        share = np.clip(near.share, 1e-6, 1 - 1e-6)
        loss = -float(np.where(near.place == labels[rows], np.log(share), np.log1p(-share)).mean())
        if loss < least:
            best, least = float(temperature), loss
    return best
