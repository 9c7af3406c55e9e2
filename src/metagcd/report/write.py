"""Run directories -> one HTML file that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

from metagcd.report.page import render
from metagcd.report.records import read_records
from metagcd.runs import RunDirectory, write_atomic
from metagcd.types import Dataset


def write_report(runs: Sequence[RunDirectory | Path], path: Path, *, data: Dataset | None = None) -> Path:
    """Write one HTML file about the runs: it loads nothing and runs no script; return its path.

    `data` gives class names and pictures for runs on it; without it they are shown for sources that load in a moment.
    """
    write_atomic(path, render(read_records(runs), data=data))
    return path
