"""Records -> the text of the page."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from metagcd.protocol import Protocol
from metagcd.report import figures
from metagcd.report.confusion import Confusion, confusion, summed
from metagcd.report.gallery import Size, class_names, data_of, galleries
from metagcd.report.inline import inline_svg
from metagcd.report.map import map_figure
from metagcd.report.records import Record
from metagcd.report.spotted import spotted_table
from metagcd.results import Row, Table, cell, cost_table, pick, session_table, stage_table
from metagcd.types import Dataset

SIDE_BY_SIDE = 3
"""Sessions that fit on the page beside one another."""
MAPS = 10
"""Runs whose features are drawn; a map is the largest thing on the page."""


@dataclass(frozen=True)
class Scores:
    """All that is said about the runs on one data source."""

    data: str
    last: Table | None
    """The last session alone, where there are so many that it would be out of sight."""
    headline: Table
    others: tuple[Table, ...]
    cost: Table
    stages: Table
    """Time and memory of every session."""
    accuracy: str
    forgetting: str | None
    spotted: Table | None
    """Known or novel, where learners told that."""
    counts: str | None
    """How many classes were told apart, where that is not how many there were."""
    comparable: bool
    """Whether all runs here had the same protocols."""


@dataclass(frozen=True)
class Part:
    """Last session of one run under one read-out, all seeds together."""

    label: str
    readout: str
    picture: str
    known: int | None
    per_class: tuple[tuple[str, str, int, float, str], ...]
    """Class, whether known or novel, test images of all seeds, mean accuracy, and accuracy in words."""


@dataclass(frozen=True)
class Map:
    """Features of the test images of one run on a plane."""

    label: str
    seed: int
    session: int
    images: int
    picture: str


@dataclass(frozen=True)
class Draw:
    """The sizes of one protocol."""

    digest: str
    used: tuple[str, ...]
    """Runs, each with its seeds."""
    lines: tuple[tuple[str, int, int, int, int], ...]
    """Session, classes met before, novel classes, training images, test images."""


def render(records: Sequence[Record], *, data: Dataset | None = None) -> str:
    """Return the page about the runs."""
    pairs = [(record, data_of(record, data)) for record in records]
    names = {record.label: class_names(record, images) for record, images in pairs}
    parts = [
        part
        for place, record in enumerate(records)
        for part in _parts(record, names[record.label], f"confusion-{place}")
    ]
    sources = dict.fromkeys(row.data for record in records for row in record.rows)
    environment = Environment(
        loader=PackageLoader("metagcd.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("report.html.j2").render(
        title=_title([record.label for record in records]),
        scores=[_scores(source, records, place) for place, source in enumerate(sources)],
        parts=parts,
        maps=_maps(records, names),
        galleries=galleries(pairs, Size()),
        protocols=_draws(records),
        notes=_notes(records),
        records=records,
        commands={
            record.label: f"metagcd run --config {shlex.quote(str(record.run.config_file))}" for record in records
        },
    )


def _title(labels: Sequence[str]) -> str:
    if len(labels) > 4:
        return f"{', '.join(labels[:3])} and {len(labels) - 3} more"
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def _scores(source: str, records: Sequence[Record], place: int) -> Scores:
    mine = [record for record in records if any(row.data == source for row in record.rows)]
    rows: list[Row] = [row for record in mine for row in record.rows if row.data == source]
    last = max(row.session for row in rows)
    met = _met(mine)
    spotted = [one for record in mine for one in record.spotted]
    counted = any(row.classes != met.get(row.session, row.classes) for row in rows)
    ways = (("previous", "global"), ("initial", "split"), ("previous", "split"))
    return Scores(
        data=source,
        last=session_table(pick(rows, session=last)) if last > SIDE_BY_SIDE else None,
        headline=session_table(rows),
        others=tuple(session_table(rows, partition=partition, assignment=assignment) for partition, assignment in ways),
        cost=cost_table(rows),
        stages=stage_table(rows),
        accuracy=_inline(figures.accuracy_figure(rows), f"accuracy{place}", "Accuracy after every session"),
        forgetting=_inline(figures.forgetting_figure(rows), f"forgetting{place}", "Forgetting") if last else None,
        spotted=spotted_table(spotted) if spotted else None,
        counts=_inline(figures.class_count_figure(rows, met), f"counts{place}", "Classes told apart")
        if counted
        else None,
        comparable=len({frozenset(row.protocol for row in record.rows) for record in mine}) == 1,
    )


def _met(records: Sequence[Record]) -> dict[int, int]:
    """Return how many classes were met by each session; nothing where protocols differ in that."""
    counts = {
        (len(protocol.known), *(len(part.novel) for part in protocol.sessions))
        for record in records
        for protocol in record.protocols.values()
    }
    return dict(enumerate(accumulate(counts.pop()))) if len(counts) == 1 else {}


def _parts(record: Record, names: tuple[str, ...], prefix: str) -> list[Part]:
    parts: list[Part] = []
    for readout in dict.fromkeys(answers.readout for answers in record.answers):
        matrices = [confusion(answers) for answers in record.answers if answers.readout == readout]
        figure = figures.confusion_figure(summed(matrices), known=record.known, names=names)
        picture = _inline(figure, f"{prefix}-{len(parts)}", f"Confusion matrix of {record.label}, {readout}")
        parts.append(Part(record.label, readout, picture, record.known, _per_class(matrices, record, names)))
    return parts


def _maps(records: Sequence[Record], names: Mapping[str, tuple[str, ...]]) -> list[Map]:
    """Return the maps of the first runs that kept features."""
    maps: list[Map] = []
    for record in records:
        if record.sample is not None and len(maps) < MAPS:
            figure = map_figure(record.sample, known=record.known, names=names[record.label])
            picture = _inline(figure, f"map-{len(maps)}", f"Map of the features of {record.label}")
            found = record.sample
            maps.append(Map(record.label, found.seed, found.session, len(found.truth), picture))
    return maps


def _per_class(
    matrices: Sequence[Confusion], record: Record, names: tuple[str, ...]
) -> tuple[tuple[str, str, int, float, str], ...]:
    total = summed(matrices).counts.sum(axis=1)
    lines: list[tuple[str, str, int, float, str]] = []
    for label, images in enumerate(total.tolist()):
        values = [float(matrix.accuracies[label]) for matrix in matrices if label < len(matrix.counts)]
        kind = "" if record.known is None else "known" if label < record.known else "novel"
        found = cell(values)
        name = names[label] if names else str(label)
        lines.append((name, kind, images, 0.0 if np.isnan(found.mean) else found.mean, found.text()))
    return tuple(lines)


def _notes(records: Sequence[Record]) -> dict[str, str]:
    """Return what is to be known about the data, by the runs it concerns."""
    runs: dict[str, list[str]] = {}
    for record in records:
        if note := record.about.get("note"):
            runs.setdefault(str(note), []).append(record.label)
    return {", ".join(labels): note for note, labels in runs.items()}


def _draws(records: Sequence[Record]) -> list[Draw]:
    protocols: dict[str, Protocol] = {}
    used: dict[str, dict[str, list[int]]] = {}
    for record in records:
        for seed, protocol in record.protocols.items():
            protocols[protocol.digest] = protocol
            used.setdefault(protocol.digest, {}).setdefault(record.label, []).append(seed)
    return [_draw(protocol, used[digest]) for digest, protocol in protocols.items()]


def _draw(protocol: Protocol, used: Mapping[str, Sequence[int]]) -> Draw:
    first = ("0 (labelled)", 0, len(protocol.known), len(protocol.offline), len(protocol.offline_test))
    later = tuple(
        (str(place), len(part.known), len(part.novel), len(part.train), len(part.test))
        for place, part in enumerate(protocol.sessions, start=1)
    )
    words = tuple(
        f"{label} (seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))})" for label, seeds in used.items()
    )
    return Draw(protocol.digest, words, (first, *later))


def _inline(figure: Figure, prefix: str, label: str) -> str:
    return inline_svg(figures.svg_text(figure), prefix=prefix, label=label)
