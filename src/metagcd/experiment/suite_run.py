"""Carry a suite out: each run once, what is finished not again, session 0 shared where it is the same."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metagcd.data import Dataset, load
from metagcd.experiment.config import RunConfig
from metagcd.experiment.run import run
from metagcd.experiment.suite import Suite
from metagcd.experiment.trial import Hardware
from metagcd.progress import Progress
from metagcd.results import Row
from metagcd.runs import RunDirectory, existing_run

SHARED = "offline"
"""Folder, beside the runs, of states after session 0."""


@dataclass(frozen=True, kw_only=True)
class SuiteResults:
    """The rows of every line under its label, and where each run lies."""

    rows: Mapping[str, tuple[Row, ...]]
    directories: Mapping[str, Path]

    @property
    def every(self) -> tuple[Row, ...]:
        """Return the rows of all lines."""
        return tuple(row for rows in self.rows.values() for row in rows)


def run_suite(
    suite: Suite,
    *,
    root: Path | str = "runs",
    data: Dataset | None = None,
    hardware: Hardware | None = None,
    progress: Progress | None = None,
) -> SuiteResults:
    """Run what is not finished of a suite below `root`; `data` takes the place of what would be loaded."""
    root, progress = Path(root), progress or Progress()
    hardware = replace(hardware or Hardware(), shared=root / SHARED)
    loaded: dict[Any, Dataset] = {}
    rows: dict[str, tuple[Row, ...]] = {}
    for place, row in enumerate(suite.rows, start=1):
        config, directory = row.config, directory_of(row.config, root)
        if finished(config, directory):
            progress.say(f"{suite.name} {place}/{len(suite.rows)}, {row.label}: finished in {directory}")
            found = existing_run(directory).rows()
        else:
            progress.say(f"{suite.name} {place}/{len(suite.rows)}, {row.label}")
            if data is None and config.source not in loaded:
                loaded = {config.source: load(config.source, progress)}
            images = data if data is not None else loaded[config.source]
            found = run(config, directory=directory, data=images, hardware=hardware, progress=progress).rows
        rows[row.label] = tuple(replace(one, method=row.label) for one in found)
    return SuiteResults(rows=rows, directories={row.label: directory_of(row.config, root) for row in suite.rows})


def directory_of(config: RunConfig, root: Path) -> Path:
    """Return where `run` puts this configuration by itself."""
    return root / f"{config.title}-{config.digest}"


def open_sessions(config: RunConfig, directory: Path) -> dict[int, list[int]]:
    """Return for every seed the sessions whose rows are missing."""
    folder, sessions = RunDirectory(directory), range(len(config.protocol.novel) + 1)
    return {
        seed: [session for session in sessions if not folder.rows_file(seed, session).exists()] for seed in config.seeds
    }


def finished(config: RunConfig, directory: Path) -> bool:
    """Say whether there is nothing left to do; never of a run on a given split, whose sessions the split knows."""
    return not config.split and not any(open_sessions(config, directory).values())
