"""What a report needs of a run, read from the files of its directory."""

import csv
import io
import tomllib
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from metagcd.errors import InputError
from metagcd.protocol import Protocol, read_manifest
from metagcd.report.spotted import Spotted
from metagcd.results import DETECTION, MAP_POINTS, MAP_ROWS, NOVELTY, Row
from metagcd.runs import RunDirectory, existing_run, read_text
from metagcd.types import Array, Skipped

NUMBERS = (MAP_POINTS, NOVELTY, DETECTION)
"""Arrays of a session's file that do not hold whole numbers."""
FIRST_SKIPPED = 5
"""Skipped files that are named; the others are counted."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Class ids that one read-out gave to the test images of a session, beside the truth."""

    seed: int
    session: int
    readout: str
    truth: Int[Array, " n"]
    """Classes, numbered in the order in which they were met."""
    predicted: Int[Array, " n"]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Features of some test images of a session, reduced to their principal components, beside the truth."""

    seed: int
    session: int
    truth: Int[Array, " n"]
    points: Float[Array, "n d"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run as its files tell it."""

    run: RunDirectory
    label: str
    """Name of the run in tables and figures: its method, with the directory where two runs share one."""
    rows: tuple[Row, ...]
    about: Mapping[str, Any]
    config: str
    """The effective configuration as TOML text."""
    protocols: Mapping[int, Protocol]
    """Per seed; seeds whose split was not kept are absent."""
    answers: tuple[Answers, ...]
    """Of the last session of every seed."""
    sample: Sample | None = None
    """Of the last session of the first seed that has one."""
    spotted: tuple[Spotted, ...] = ()
    skipped: int = 0
    """Files of the source that could not be used."""
    first_skipped: tuple[Skipped, ...] = ()

    @property
    def source(self) -> Mapping[str, Any]:
        """Return the table of the configuration that names the data source."""
        return tomllib.loads(self.config).get("source", {})

    @property
    def class_order(self) -> tuple[int, ...] | None:
        """Return the class ids in the order they were met; None where seeds disagree or no split was kept."""
        orders = {protocol.class_order for protocol in self.protocols.values()}
        return orders.pop() if len(orders) == 1 else None

    @property
    def known(self) -> int | None:
        """Return how many classes session 0 has; None where no split was kept."""
        counts = {len(protocol.known) for protocol in self.protocols.values()}
        return counts.pop() if len(counts) == 1 else None


def read_records(runs: Sequence[RunDirectory | Path]) -> tuple[Record, ...]:
    """Return the records of runs, each under a label of its own."""
    if not runs:
        raise InputError("There is no run to report on; name at least one run directory.")
    folders = [existing_run(run.path if isinstance(run, RunDirectory) else run) for run in runs]
    records = [_read(folder) for folder in folders]
    methods = Counter(record.label for record in records)
    labels = [
        record.label if methods[record.label] == 1 else f"{record.label} ({record.run.name})" for record in records
    ]
    if len(set(labels)) < len(labels):
        labels = [f"{label} #{place}" for place, label in enumerate(labels, start=1)]
    return tuple(_labelled(record, label) for record, label in zip(records, labels, strict=True))


def _read(run: RunDirectory) -> Record:
    rows = run.rows()
    if not rows:
        raise InputError(f"{run.path} holds no finished session yet; continue it with `metagcd run`.")
    config = read_text(run.config_file)
    try:
        tomllib.loads(config)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{run.config_file} is not valid TOML: {error}.") from error
    seeds = sorted({row.seed for row in rows})
    splits = {seed: run.seed(seed) / "split.json" for seed in seeds}
    last = {seed: max(row.session for row in rows if row.seed == seed) for seed in seeds}
    samples = (_sample(run, seed, last[seed]) for seed in seeds)
    skipped = _skipped(run.path / "skipped.csv")
    return Record(
        run=run,
        label=rows[0].method,
        rows=rows,
        about=run.about(),
        config=config,
        protocols={seed: read_manifest(file) for seed, file in splits.items() if file.exists()},
        answers=tuple(answer for seed in seeds for answer in read_answers(run, seed, last[seed])),
        sample=next((found for found in samples if found is not None), None),
        spotted=read_spotted(run, rows),
        skipped=len(skipped),
        first_skipped=skipped[:FIRST_SKIPPED],
    )


def read_answers(run: RunDirectory, seed: int, session: int) -> tuple[Answers, ...]:
    """Return what every read-out answered in a session; nothing where that was not kept."""
    arrays = _kept(_file(run, seed, session))
    return tuple(
        Answers(seed=seed, session=session, readout=name, truth=arrays["truth"], predicted=predicted)
        for name, predicted in sorted(arrays.items())
        if name not in ("truth", MAP_ROWS, *NUMBERS)
    )


def read_spotted(run: RunDirectory, rows: Sequence[Row]) -> tuple[Spotted, ...]:
    """Return how well novel images were told from known ones, wherever that was kept."""
    met = dict.fromkeys((row.method, row.seed, row.session) for row in rows)
    kept = ((key, _kept(_file(run, *key[1:])).get(DETECTION)) for key in met)
    return tuple(
        Spotted(run.name, *key, auroc=float(pair[0]), fpr95=float(pair[1])) for key, pair in kept if pair is not None
    )


def _file(run: RunDirectory, seed: int, session: int) -> Path:
    return run.seed(seed) / f"session-{session}.npz"


def _kept(file: Path) -> dict[str, Array]:
    """Return the arrays of a session's file, classes and rows as whole numbers; none where there is no file."""
    if not file.exists():
        return {}
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        whole = {name: array.astype(np.int64) for name, array in arrays.items() if name not in NUMBERS}
        length = whole["truth"].shape
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} is damaged; remove it, or repeat the run, to make the report.") from error
    if any(array.shape != length for name, array in whole.items() if name != MAP_ROWS):
        raise InputError(f"{file} is damaged: its arrays differ in length; remove it to make the report.")
    return arrays | whole


def _sample(run: RunDirectory, seed: int, session: int) -> Sample | None:
    file = _file(run, seed, session)
    arrays = _kept(file)
    if MAP_ROWS not in arrays or MAP_POINTS not in arrays:
        return None
    rows, points, truth = arrays[MAP_ROWS], arrays[MAP_POINTS], arrays["truth"]
    inside = rows.size > 0 and rows.min() >= 0 and rows.max() < len(truth)
    if points.ndim != 2 or rows.shape != points.shape[:1] or not inside:
        raise InputError(f"{file} is damaged: features and rows do not fit; remove it to make the report.")
    return Sample(seed=seed, session=session, truth=truth[rows], points=points.astype(np.float32))


def _skipped(file: Path) -> tuple[Skipped, ...]:
    """Return the files of the source that the run listed as unusable."""
    if not file.exists():
        return ()
    lines = list(csv.reader(io.StringIO(read_text(file), newline="")))
    if not lines or any(len(line) != 2 for line in lines):
        raise InputError(f"{file} is damaged: a line must hold path and reason; remove it to make the report.")
    return tuple(Skipped(path=path, reason=reason) for path, reason in lines[1:])


def _labelled(record: Record, label: str) -> Record:
    rows = tuple(replace(row, method=label) for row in record.rows)
    return replace(record, label=label, rows=rows, spotted=tuple(replace(one, method=label) for one in record.spotted))
