"""Known, new or unsure: a calibrated decision about one image, from its distances to the classes of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Float

from metagcd.types import Array
from metagcd.workspace.nearness import Nearness, nearness
from metagcd.workspace.reliability import Reliability
from metagcd.workspace.types import KNOWN, NEW, UNSURE, ClassTable, Scores

SURE = 0.6
"""Least probability at which an image is called known, or new; our choice: an error is half as dear again as a look."""
BEYOND_DOUBT = 0.9
"""Least confidence of an image that may change the statistics of its class; our choice."""
EDGE = 1e-6
"""Probabilities stay this far from 0 and 1, where the logit is infinite."""


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What was calibrated on session 0; all of it numbers, to be kept beside the classes."""

    offset: float
    """Logit of the novelty of an image at zero reach, depth and margin."""
    reach: float
    """What it rises by with the distance to the nearest mean."""
    depth: float
    """What it rises by with that distance over what is usual in the class."""
    margin: float
    """What it rises by (falls, being negative) as the second class lies farther than the nearest."""
    temperature: float
    """Of the probabilities among the classes of a table."""
    slope: float
    shift: float
    """The logit of the confidence is this times the raw one, plus this (Platt, 1999)."""
    prior: float
    """Share of novel images that the novelty was calibrated at."""
    known_levels: tuple[float, ...]
    """Logits of the novelty of held-out known images, evenly from the lowest to the highest."""
    novel_level: float
    novel_spread: float
    """Mean and standard deviation of those of hidden classes."""
    narrowing: float
    """Mean squared distance to their class mean of images recognised beyond doubt, over that of all images."""
    apart: float
    """Separation at which two groups are taken for two classes (`metagcd.workspace.separation`)."""
    alike: float
    """Mean novelty beside all other classes, at even odds, under which a group is taken for a part of them."""
    caution: float
    """Part by which a new class must stand further apart than `apart`, over the root of the number of its images."""
    flatness: float
    """Spread of a class along the line to another class over its spread in all directions."""
    reliability: Reliability
    """Of the confidence, on images held out of session 0 and of the calibration."""

    @property
    def values(self) -> dict[str, Any]:
        """Return the numbers in a form that JSON holds."""
        whole = asdict(self)
        diagram = {key: _plain(value) for key, value in whole.pop("reliability").items()}
        return {**whole, "known_levels": list(self.known_levels), "reliability": diagram}

    @staticmethod
    def of(values: Mapping[str, Any]) -> "Judge":
        """Return the judge whose `values` these are."""
        told = values["reliability"]
        diagram = {key: _column(told[key]) for key in ("edges", "confidence", "accuracy")}
        single = [field.name for field in fields(Judge) if field.name not in {"reliability", "known_levels"}]
        return Judge(
            **{name: float(values[name]) for name in single},
            known_levels=tuple(float(level) for level in values["known_levels"]),
            reliability=Reliability(
                **diagram, counts=np.array(told["counts"], dtype=np.int64), ece=float(_column([told["ece"]])[0])
            ),
        )

    def look(self, features: Float[Array, "n d"], table: ClassTable, *, prior: float | None = None) -> Scores:
        """Judge images one by one; `prior` is the share of novel images to expect where that is known."""
        if len(table) == 0:
            return _nothing_known(len(features))
        near = nearness(features, table, temperature=self.temperature)
        novelty = self.novelty(near, prior=prior)
        confidence = self.confidence(novelty, near.share)
        return Scores(place=near.place, confidence=confidence, novelty=novelty, verdict=verdicts(confidence, novelty))

    def novelty(self, near: Nearness, *, prior: float | None = None) -> Float[Array, " n"]:
        """Return the probability of being of no class of the table."""
        change = 0.0 if prior is None else float(logit(prior) - logit(self.prior))
        return sigmoid(self.level(near) + change)

    def level(self, near: Nearness) -> Float[Array, " n"]:
        """Return the logit of the novelty."""
        return self.offset + self.reach * near.reach + self.depth * near.depth + self.margin * near.margin

    def confidence(self, novelty: Float[Array, " n"], share: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the probability that an image is known and of the nearest class."""
        return sigmoid(self.shift + self.slope * logit((1 - novelty) * share))


def verdicts(confidence: Float[Array, " n"], novelty: Float[Array, " n"]) -> Any:
    """Return what may be said of images with these probabilities."""
    found = np.full(len(confidence), UNSURE, dtype=np.int8)
    found[confidence >= SURE] = KNOWN
    found[novelty >= SURE] = NEW
    return found


def logit(probability: Any) -> Any:
    """Return the logarithm of the odds, finite at 0 and 1."""
    bounded = np.clip(probability, EDGE, 1 - EDGE)
    return np.log(bounded) - np.log1p(-bounded)


def sigmoid(level: Any) -> Any:
    """Return the probability with this logit."""
    return 0.5 * (1 + np.tanh(0.5 * level))


def _nothing_known(images: int) -> Scores:
    return Scores(
        place=np.full(images, -1, dtype=np.int64),
        confidence=np.zeros(images),
        novelty=np.ones(images),
        verdict=np.full(images, NEW, dtype=np.int8),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(number) for number in value.tolist()]
    return None if value != value else value  # NaN is no number in JSON


def _column(values: Sequence[float | None]) -> Float[Array, " n"]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
