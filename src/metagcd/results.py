"""Rows of scores, and the tables made of them."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean, stdev
from typing import Any

from metagcd.errors import InputError

SCORES = ("all", "old", "new")
MAP_ROWS, MAP_POINTS = "map_rows", "map_points"
"""Arrays beside the class ids of a session that are no read-out: rows of test images, and their features reduced."""
NOVELTY, DETECTION = "novelty", "detection"
"""Further ones: how novel each test image looks, and how well that tells novel from known (AUROC, FPR95)."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One score: what was scored, how, and what came out."""

    run: str
    """Name of the run directory."""
    method: str
    data: str
    """Name of the data source."""
    protocol: str
    """Digest of the protocol; equal digests are comparable."""
    seed: int
    session: int
    """0 after offline training, then 1, 2, ..."""
    partition: str
    """`initial`: Old are the classes of session 0. `previous`: Old are all classes met before this session."""
    assignment: str
    """`global`: one Hungarian map over all classes. `split`: one for Old and one for New."""
    readout: str
    """How class ids were read off the learner."""
    classes: int
    """How many classes the read-out was given or found."""
    all: float
    """Accuracy in percent over all test images met so far."""
    old: float
    new: float
    """Not a number where the session has no such class."""
    seconds: float
    """Training time of this session."""
    memory: int
    """Bytes that the learner carries to the next session."""


def to_json(rows: Iterable[Row]) -> str:
    """Return rows as JSON lines; what is not a number becomes null."""
    return "".join(json.dumps({k: _nothing(v) for k, v in asdict(row).items()}) + "\n" for row in rows)


def from_json(text: str, *, origin: str = "the rows") -> tuple[Row, ...]:
    """Return the rows that `to_json` wrote."""
    try:
        tables: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines() if line]
        return tuple(Row(**{k: _number(v) for k, v in table.items()}) for table in tables)
    except (json.JSONDecodeError, TypeError, AttributeError) as error:
        raise InputError(f"{origin} does not hold rows of this version: {error}.") from error


def to_csv(rows: Iterable[Row]) -> str:
    """Return every row with every column as comma-separated text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows([_nothing(value) for value in asdict(row).values()] for row in rows)
    return text.getvalue()


@dataclass(frozen=True)
class Cell:
    """Mean and spread (standard deviation over seeds) of one score."""

    mean: float
    spread: float
    count: int

    def text(self, sign: str = "±") -> str:
        """Return `76.3 ± 0.4`; without a spread when there is one seed; a dash when there is nothing."""
        if math.isnan(self.mean):
            return "-"
        return f"{self.mean:.1f}" + (f" {sign} {self.spread:.1f}" if self.count > 1 else "")


@dataclass(frozen=True)
class Table:
    """Text in rows and columns, with one line that says what it shows."""

    caption: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    """What is said below it."""

    def markdown(self) -> str:
        """Return the table for a markdown file."""
        rule = tuple("---" if place == 0 else "---:" for place in range(len(self.header)))
        body = ("| " + " | ".join(line) + " |" for line in (self.header, rule, *self.lines))
        notes = ("", *(f"- {note}" for note in self.notes)) if self.notes else ()
        return "\n".join((self.caption, "", *body, *notes)) + "\n"

    def latex(self) -> str:
        """Return the table for a LaTeX file (packages: booktabs)."""
        body = [" & ".join(_latex(cell) for cell in line) + r" \\" for line in (self.header, *self.lines)]
        rows = "\n".join((r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule"))
        columns = "l" + "r" * (len(self.header) - 1)
        notes = "".join(f"\\par\\footnotesize {_latex(note)}\n" for note in self.notes)
        return (
            f"\\begin{{table}}\n\\centering\n\\begin{{tabular}}{{{columns}}}\n{rows}\n\\end{{tabular}}\n{notes}"
            f"\\caption{{{_latex(self.caption)}}}\n\\end{{table}}\n"
        )

    def csv(self) -> str:
        """Return the table as comma-separated text."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows((self.header, *self.lines))
        return text.getvalue()


FORMATS: dict[str, Callable[[Table], str]] = {"markdown": Table.markdown, "latex": Table.latex, "csv": Table.csv}


def pick(rows: Iterable[Row], **wanted: Any) -> tuple[Row, ...]:
    """Return the rows whose columns have the wanted values; None wants anything."""
    return tuple(
        row for row in rows if all(value is None or getattr(row, key) == value for key, value in wanted.items())
    )


def cell(values: Iterable[float]) -> Cell:
    """Return mean and spread of what is a number."""
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers:
        return Cell(math.nan, math.nan, 0)
    return Cell(fmean(numbers), stdev(numbers) if len(numbers) > 1 else 0.0, len(numbers))


def session_table(rows: Sequence[Row], *, partition: str = "initial", assignment: str = "global") -> Table:
    """Return one line per method and read-out: All/Old/New of every session, mean and spread over seeds."""
    shown = pick(rows, partition=partition, assignment=assignment)
    sessions = sorted({row.session for row in shown if row.session > 0}) or [0]
    lines = [
        (method, readout, *_scores(pick(shown, method=method, readout=readout), sessions))
        for method, readout in dict.fromkeys((row.method, row.readout) for row in shown)
    ]
    columns = tuple(f"{score.capitalize()} {session}" for session in sessions for score in SCORES)
    return Table(_caption(shown, partition, assignment), ("method", "read-out", *columns), tuple(lines))


def upright_table(rows: Sequence[Row], *, partition: str = "initial", assignment: str = "global") -> Table:
    """Return the scores of `session_table` with one line per session and method, for narrow places."""
    shown = pick(rows, partition=partition, assignment=assignment)
    sessions = sorted({row.session for row in shown if row.session > 0}) or [0]
    lines = [
        (str(session), method, readout, *_scores(pick(shown, method=method, readout=readout), [session]))
        for session in sessions
        for method, readout in dict.fromkeys((row.method, row.readout) for row in shown)
    ]
    header = ("session", "method", "read-out", *(score.capitalize() for score in SCORES))
    return Table(_caption(shown, partition, assignment), header, tuple(lines))


def cost_table(rows: Sequence[Row]) -> Table:
    """Return one line per method: seconds of training offline and per online session, and megabytes carried on."""
    lines: list[tuple[str, ...]] = []
    for method in dict.fromkeys(row.method for row in rows):
        own = pick(rows, method=method)
        offline = cell(row.seconds for row in own if row.session == 0)
        online = cell(row.seconds for row in own if row.session > 0)
        memory = max(row.memory for row in own) / 1e6
        lines.append((method, offline.text(), online.text(), f"{memory:.2f}"))
    header = ("method", "seconds offline", "seconds per session", "MB carried")
    return Table("Cost of learning: mean ± standard deviation over seeds and sessions.", header, tuple(lines))


def stage_table(rows: Sequence[Row]) -> Table:
    """Return one line per method and session: seconds of training, and bytes that are carried on from there."""
    lines: list[tuple[str, ...]] = []
    for method in dict.fromkeys(row.method for row in rows):
        for session in sorted({row.session for row in rows if row.method == method}):
            own = pick(rows, method=method, session=session)
            seconds = cell({(row.run, row.seed): row.seconds for row in own}.values())
            lines.append((method, str(session), seconds.text(), f"{max(row.memory for row in own):,}"))
    header = ("method", "session", "seconds", "bytes carried")
    caption = "Training time (mean ± standard deviation over seeds) and bytes carried on (most of any seed) by session."
    return Table(caption, header, tuple(lines))


def _scores(rows: Sequence[Row], sessions: Sequence[int]) -> tuple[str, ...]:
    return tuple(
        cell(getattr(row, score) for row in rows if row.session == session).text()
        for session in sessions
        for score in SCORES
    )


def _caption(rows: Sequence[Row], partition: str, assignment: str) -> str:
    seeds = len({row.seed for row in rows})
    data = ", ".join(dict.fromkeys(row.data for row in rows))
    protocols = ", ".join(dict.fromkeys(row.protocol for row in rows))
    return (
        f"Accuracy in percent after each session on {data or 'nothing'}: partition {partition}, "
        f"assignment {assignment}, protocol {protocols or '-'}, {seeds} seed{'' if seeds == 1 else 's'} "
        "(mean ± standard deviation)."
    )


def _nothing(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _number(value: Any) -> Any:
    return math.nan if value is None else value


def _latex(text: str) -> str:
    for plain, escaped in (("%", r"\%"), ("_", r"\_"), ("&", r"\&"), ("±", r"$\pm$")):
        text = text.replace(plain, escaped)
    return text
