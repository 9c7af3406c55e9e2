"""What a report needs of a run, read from the files of its directory."""

import io
import tomllib
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from metagcd.errors import InputError
from metagcd.protocol import Protocol, read_manifest
from metagcd.results import Row
from metagcd.runs import RunDirectory, existing_run, read_text
from metagcd.types import Array


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
    return Record(
        run=run,
        label=rows[0].method,
        rows=rows,
        about=run.about(),
        config=config,
        protocols={seed: read_manifest(file) for seed, file in splits.items() if file.exists()},
        answers=tuple(answer for seed in seeds for answer in _answers(run, seed, last[seed])),
    )


def _answers(run: RunDirectory, seed: int, session: int) -> list[Answers]:
    file = run.seed(seed) / f"session-{session}.npz"
    if not file.exists():
        return []
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        truth = arrays.pop("truth").astype(np.int64)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} is damaged; remove it, or repeat the run, to make the report.") from error
    if any(array.shape != truth.shape for array in arrays.values()):
        raise InputError(f"{file} is damaged: its arrays differ in length; remove it to make the report.")
    return [
        Answers(seed=seed, session=session, readout=name, truth=truth, predicted=predicted.astype(np.int64))
        for name, predicted in sorted(arrays.items())
    ]


def _labelled(record: Record, label: str) -> Record:
    return replace(record, label=label, rows=tuple(replace(row, method=label) for row in record.rows))
