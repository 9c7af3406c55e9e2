"""From a learner and the truth to the rows of a session."""

import io
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from metagcd.errors import unknown_name
from metagcd.evaluate import detection, kmeans_readout, readings
from metagcd.experiment.config import ReadoutConfig
from metagcd.experiment.sample import sample
from metagcd.methods.learner import KeepsStatistics, Learner
from metagcd.methods.readout import Statistics, grouped
from metagcd.results import DETECTION, NOVELTY, SCORES, Row
from metagcd.runs import write_atomic
from metagcd.types import Array, Images


@dataclass(frozen=True, kw_only=True)
class Examination:
    """The test images of a session with their classes, numbered in the order they were met."""

    images: Images
    truth: Int[Array, " n"]
    session: int
    initial: int
    """Classes of session 0."""
    before: int
    """Classes met before this session."""
    classes: int
    """Classes that the read-out is to tell apart."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Class ids read off a learner, once or under several seeds."""

    readout: str
    repeats: tuple[Int[Array, " n"], ...]
    features: Float[Array, "n d"] | None = None
    """What the class ids were read from, where that was features."""

    @property
    def predicted(self) -> Int[Array, " n"]:
        """Return the class ids under the first seed."""
        return self.repeats[0]


def chosen_readouts(learner: Learner, config: ReadoutConfig) -> tuple[str, ...]:
    """Return the read-outs to score; refuse one that the learner does not have."""
    for name in config.names:
        if name not in learner.readouts:
            raise unknown_name("read-out of this method", name, learner.readouts)
    return config.names or learner.readouts


def read_off(learner: Learner, examination: Examination, config: ReadoutConfig, *, seed: int) -> tuple[Reading, ...]:
    """Return the class ids of the test images by every chosen read-out."""
    names = chosen_readouts(learner, config)
    features = learner.embed(examination.images) if set(names) - {"head"} else None
    found: list[Reading] = []
    for name in names:
        if name == "head" or features is None:
            repeats = (learner.predict(examination.images),)
        elif name == "prototype":
            repeats = (_statistics(learner).classify(features),)
        else:
            known = _statistics(learner).first(examination.initial) if name == "semi" else None
            repeats = tuple(
                clustered(features, examination.classes, known, seed=seed + repeat, restarts=config.restarts)
                for repeat in range(config.repeats)
            )
        found.append(Reading(readout=name, repeats=repeats, features=features))
    return tuple(found)


def clustered(
    features: Float[Array, "n d"], classes: int, known: Statistics | None, *, seed: int, restarts: int
) -> Int[Array, " n"]:
    """Return the cluster of every image, beside the known classes where they are given."""
    if known is None:
        return kmeans_readout(features, classes, seed=seed, restarts=restarts)
    return np.asarray(grouped(features, known, classes, seed=seed, restarts=restarts).labels, dtype=np.int64)


def score(reading: Reading, examination: Examination, base: Row) -> list[Row]:
    """Return the rows of one read-out: both partitions under both assignments; `base` holds what they share."""
    repeats = [
        readings(
            examination.truth,
            predicted,
            initial=range(examination.initial),
            previous=range(examination.before),
            assignments=("global", "split"),
        )
        for predicted in reading.repeats
    ]
    rows: list[Row] = []
    for same in zip(*repeats, strict=True):
        mean = np.mean([astuple(one.accuracy) for one in same], axis=0).tolist()
        scores = dict(zip(SCORES, mean, strict=True))
        partition, assignment = same[0].partition, same[0].assignment
        rows.append(replace(base, partition=partition, assignment=assignment, readout=reading.readout, **scores))
    return rows


def keep_predictions(path: Path, examination: Examination, found: tuple[Reading, ...], learner: Learner) -> None:
    """Write truth, class ids (of a repeated read-out the first), novelty and some features, for other scores later."""
    content = io.BytesIO()
    arrays = {"truth": examination.truth} | {reading.readout: reading.predicted for reading in found}
    features = next((reading.features for reading in found if reading.features is not None), None)
    if features is not None:
        arrays |= sample(features, examination.truth) | novelty(learner, examination, features)
    np.savez_compressed(content, allow_pickle=False, **arrays)
    write_atomic(path, content.getvalue())


def novelty(learner: Learner, examination: Examination, features: Float[Array, "n d"]) -> dict[str, Array]:
    """Return how novel each image looks beside the classes met before the session, and how well that finds novel ones.

    Nothing for session 0, where there is no novel class, and for a learner that carries no class means.
    """
    if examination.session == 0 or not isinstance(learner, KeepsStatistics):
        return {}
    scores = learner.statistics.novelty(features, examination.before)
    found = detection(examination.truth >= examination.before, scores)
    return {NOVELTY: scores.astype(np.float32), DETECTION: np.array(astuple(found))}


def _statistics(learner: Learner) -> Statistics:
    if not isinstance(learner, KeepsStatistics):
        raise TypeError(f"{type(learner).__name__} names a read-out that needs class statistics, but keeps none.")
    return learner.statistics
