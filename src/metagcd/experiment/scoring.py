"""From a learner and the truth to the rows of a session."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from metagcd.cluster import kmeans
from metagcd.evaluate import clustering_accuracy
from metagcd.methods.learner import Learner
from metagcd.results import Row
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
    """Class ids read off a learner."""

    readout: str
    predicted: Int[Array, " n"]


def read_off(learner: Learner, examination: Examination, *, restarts: int, seed: int) -> tuple[Reading, ...]:
    """Return the class ids of the test images by every read-out that the learner has."""
    features = learner.embed(examination.images)
    clusters = kmeans(features, examination.classes, seed=seed, restarts=restarts)
    return (Reading(readout="kmeans", predicted=np.asarray(clusters.labels, dtype=np.int64)),)


def score(reading: Reading, examination: Examination, base: Row) -> list[Row]:
    """Return the rows of one read-out: both partitions under both assignments; `base` holds what they share."""
    old_classes = {"initial": examination.initial, "previous": examination.before}
    rows: list[Row] = []
    for partition, old in old_classes.items():
        for assignment in ("global", "split"):
            scores = clustering_accuracy(
                examination.truth, reading.predicted, examination.truth < old, assignment=assignment
            )
            rows.append(
                replace(
                    base,
                    partition=partition,
                    assignment=assignment,
                    readout=reading.readout,
                    all=scores.all,
                    old=scores.old,
                    new=scores.new,
                )
            )
    return rows


def keep_predictions(path: Path, examination: Examination, readings: tuple[Reading, ...]) -> None:
    """Write truth and class ids, from which confusion matrices and every other score can be made later."""
    content = io.BytesIO()
    arrays = {"truth": examination.truth} | {reading.readout: reading.predicted for reading in readings}
    np.savez_compressed(content, allow_pickle=False, **arrays)
    write_atomic(path, content.getvalue())
