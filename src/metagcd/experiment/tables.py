"""Scores over the sessions of each seed, and the tables made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metagcd.evaluate import Accuracy, compare, discovery, forgetting, session_average
from metagcd.results import SCORES, Row, Table, cell, pick

ENOUGH = 3
"""Seeds from which on methods are compared by a test."""


@dataclass(frozen=True, kw_only=True)
class View:
    """Which of the scores are shown."""

    partition: Literal["initial", "previous"] = "initial"
    assignment: Literal["global", "split"] = "global"
    readout: str | None = "kmeans"
    """None: all of them."""

    def of(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Return the rows that are shown."""
        return pick(rows, partition=self.partition, assignment=self.assignment, readout=self.readout)

    @property
    def words(self) -> str:
        """Say what is shown."""
        readout = f", read-out {self.readout}" if self.readout else ""
        return f"partition {self.partition}, assignment {self.assignment}{readout}"


@dataclass(frozen=True)
class Course:
    """The scores of one seed, from session 0 on."""

    seed: int
    protocol: str
    scores: tuple[Accuracy, ...]
    sessions: tuple[int, ...]

    @property
    def average(self) -> Accuracy:
        """Return mA, mO and mN: the means over the online sessions."""
        return session_average([score for score, session in zip(self.scores, self.sessions, strict=True) if session])

    @property
    def final(self) -> Accuracy:
        """Return the scores after the last session."""
        return self.scores[-1]


def courses(rows: Sequence[Row]) -> tuple[Course, ...]:
    """Return one course for every seed; the rows are those of one method and read-out, seen in one way."""
    found: list[Course] = []
    for seed in sorted({row.seed for row in rows}):
        own = sorted(pick(rows, seed=seed), key=lambda row: row.session)
        scores = tuple(Accuracy(row.all, row.old, row.new) for row in own)
        found.append(Course(seed, own[0].protocol, scores, tuple(row.session for row in own)))
    return tuple(found)


def summary_table(rows: Sequence[Row], view: View | None = None) -> Table:
    """Return a line per method and read-out: averages over sessions, forgetting and discovery.

    M_f and M_d (Zhang et al., 2022) always part the classes of session 0 from all later ones.
    """
    view = view or View(readout=None)
    lines: list[tuple[str, ...]] = []
    for method, readout in dict.fromkeys((row.method, row.readout) for row in rows):
        own = pick(rows, method=method, readout=readout)
        averages = [course.average for course in courses(view.of(own))]
        initial = courses(pick(own, partition="initial", assignment=view.assignment))
        lost = [forgetting([score.old for score in course.scores]) for course in initial if course.sessions[0] == 0]
        found = [discovery([score.new for score in course.scores]) for course in initial]
        cells = [*(cell(getattr(one, score) for one in averages) for score in SCORES), cell(lost), cell(found)]
        lines.append((method, readout, *(one.text() for one in cells)))
    caption = (
        f"Means over the online sessions in percent ({view.words}), largest drop on the classes of session 0 (M_f) and "
        "final accuracy on all later ones (M_d): mean ± standard deviation over seeds."
    )
    return Table(caption, ("method", "read-out", "mA", "mO", "mN", "M_f", "M_d"), tuple(lines))


def comparison(first: Sequence[Course], second: Sequence[Course], *, labels: tuple[str, str], average: bool) -> str:
    """Say in a line how the first differs from the second over the seeds and protocols they share."""
    others = {(course.seed, course.protocol): course for course in second}
    pairs = [(one, others[one.seed, one.protocol]) for one in first if (one.seed, one.protocol) in others]
    what = "mean All over sessions" if average else "final All"
    lead = f"{labels[0]} over {labels[1]}, {what}"
    if len(pairs) < ENOUGH:
        return f"{lead}: no test with fewer than {ENOUGH} shared seeds (there {_are(len(pairs))})."
    values = np.array([[(one.average if average else one.final).all for one in pair] for pair in pairs])
    found = compare(values[:, 0], values[:, 1])
    least = 2.0 ** (1 - len(pairs))
    return (
        f"{lead}: {found.difference:+.1f} points, paired t test p = {found.t_p_value:.3f}, sign flips "
        f"p = {found.sign_flip_p_value:.3f} ({len(pairs)} seeds, for which it is {least:.3f} at least)."
    )


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"
