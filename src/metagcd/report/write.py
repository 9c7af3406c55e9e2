"""Run directories -> one HTML file that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

from metagcd.errors import InputError
from metagcd.report.page import render
from metagcd.report.records import read_records
from metagcd.runs import RunDirectory, write_atomic
from metagcd.types import Dataset


def write_report(runs: Sequence[RunDirectory | Path], path: Path, *, data: Dataset | None = None) -> Path:
    """Write one HTML file about the runs: it loads nothing and runs no script; return its path.

    `data` gives class names and pictures for runs on it; without it they are shown for sources that load in a moment.
    """
    records = read_records(runs)
    if data is not None and all(record.about.get("source_fingerprint") != data.fingerprint for record in records):
        raise InputError(f"The images given (fingerprint {data.fingerprint}) are not those of any of these runs.")
    write_atomic(path, render(records, data=data))
    return path
