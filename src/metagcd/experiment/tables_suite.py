"""The tables of suites, in the layout of the paper; what the paper prints stands in lines of its own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metagcd.experiment.published import Figures, Published
from metagcd.experiment.suite import Suite
from metagcd.experiment.tables import Course, View, comparison, courses
from metagcd.results import SCORES, Row, Table, cell

OURS, PAPER = "ours", "paper"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a table: our courses, or the figures of a paper."""

    name: str
    label: str
    courses: tuple[Course, ...] = ()
    printed: Figures | None = None

    def score(self, session: int, score: str) -> str:
        """Return the cell of a session."""
        place = SCORES.index(score)
        if self.printed is not None:
            return _plain(self.printed.sessions[session - 1][place] if session <= len(self.printed.sessions) else None)
        found = [
            getattr(course.scores[course.sessions.index(session)], score)
            for course in self.courses
            if session in course.sessions
        ]
        return cell(found).text()

    def average(self, score: str) -> str:
        """Return the cell of the mean over sessions."""
        if self.printed is not None:
            return _plain(self.printed.average[SCORES.index(score)] if self.printed.average else None)
        return cell(getattr(course.average, score) for course in self.courses).text()

    def final(self, score: str) -> float:
        """Return the mean score after the last session."""
        if self.printed is not None:
            return self.printed.sessions[-1][SCORES.index(score)]
        return cell(getattr(course.final, score) for course in self.courses).mean

    @property
    def ours(self) -> bool:
        """Say whether the line is ours."""
        return self.printed is None

    @property
    def last(self) -> int:
        """Return the number of online sessions."""
        if self.printed is not None:
            return len(self.printed.sessions)
        return max((course.sessions[-1] for course in self.courses), default=0)


def suite_table(
    suite: Suite, rows: Mapping[str, Sequence[Row]], view: View | None = None, *, printed: Published | None = None
) -> Table:
    """Return the table of a suite: a line per row of it, then, apart and marked, those that a paper prints."""
    view = view or View()
    ours = [
        Line(name=row.name, label=row.label, courses=courses(view.of(rows.get(row.label, ())))) for row in suite.rows
    ]
    labels = {row.name: row.label for row in suite.rows}
    theirs = [
        Line(name=name, label=labels.get(name, name), printed=figures)
        for name, figures in (printed.rows if printed else {}).items()
    ]
    if suite.layout == "sweep":
        return Table(_caption(suite, ours, view), *_sweep(suite, ours), _notes(suite, ours, None))
    every, marked = [*ours, *theirs], printed is not None
    lines = [(*_lead(line, marked=marked), *_cells(suite, line, every)) for line in every]
    header = ("method", *(("figures of",) if marked else ()), *_header(suite, every))
    return Table(_caption(suite, ours, view), header, tuple(lines), _notes(suite, ours, printed))


def _lead(line: Line, *, marked: bool) -> tuple[str, ...]:
    return (line.label, *((OURS if line.ours else PAPER,) if marked else ()))


def _header(suite: Suite, lines: Sequence[Line]) -> tuple[str, ...]:
    columns = tuple(f"{score.capitalize()} {session}" for session in _sessions(lines) for score in SCORES)
    return columns + (("mA", "mO", "mN") if suite.layout == "average" else ("gain All", "gain Old", "gain New"))


def _cells(suite: Suite, line: Line, lines: Sequence[Line]) -> tuple[str, ...]:
    scores = tuple(line.score(session, score) for session in _sessions(lines) for score in SCORES)
    if suite.layout == "average":
        return scores + tuple(line.average(score) for score in SCORES)
    # Gains are taken within our figures and within theirs, never across.
    same = [other for other in lines if other.name == suite.reference and other.ours == line.ours]
    if not same or same[0] is line:
        return (*scores, "", "", "")
    return scores + tuple(_signed(same[0].final(score) - line.final(score)) for score in SCORES)


def _sweep(suite: Suite, lines: Sequence[Line]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    header = (suite.quantity, "mA", "mO", "mN", *(f"final {score.capitalize()}" for score in SCORES))
    body = tuple(
        (line.label, *map(line.average, SCORES), *(line.score(line.last, score) for score in SCORES)) for line in lines
    )
    return header, body


def _sessions(lines: Sequence[Line]) -> range:
    return range(1, max((line.last for line in lines), default=0) + 1)


def _caption(suite: Suite, lines: Sequence[Line], view: View) -> str:
    protocols = ", ".join(dict.fromkeys(course.protocol for line in lines for course in line.courses))
    seeds = max((len(line.courses) for line in lines), default=0)
    gain = f" Gain: the last session of {suite.reference} less that of the line." if _gains(suite) else ""
    return (
        f"{suite.title} on {suite.dataset}, accuracy in percent after each session: {view.words}, protocol "
        f"{protocols or '-'}, {seeds} seed{'' if seeds == 1 else 's'} (mean ± standard deviation).{gain}"
    )


def _gains(suite: Suite) -> bool:
    return suite.layout in ("improvement", "confusion")


def _notes(suite: Suite, lines: Sequence[Line], printed: Published | None) -> tuple[str, ...]:
    notes: list[str] = []
    reference = next((line for line in lines if line.name == suite.reference and line.courses), None)
    for line in lines:
        if reference is not None and line is not reference and line.courses:
            labels: Any = (reference.label, line.label)
            notes.append(comparison(reference.courses, line.courses, labels=labels, average=suite.layout == "average"))
    if printed is not None:
        notes.append(f"Lines of the paper are as printed: {printed.source}, under the protocol {printed.protocol}.")
    return (*notes, *suite.remarks)


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.1f}"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
