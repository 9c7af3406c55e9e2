"""What a suite would do: which sessions are missing, and what they may cost, judged by runs that are there."""

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from metagcd.config import to_mapping
from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.experiment.offline import digest_of, offline_fields
from metagcd.experiment.suite import Suite
from metagcd.experiment.suite_run import directory_of, open_sessions
from metagcd.results import Row, Table
from metagcd.runs import RunDirectory, existing_run, read_text

ALIKE = ("source", "protocol", "encoder")
"""Tables of a configuration that must be equal for the time of one run to say something about another."""
UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What runs of a method took."""

    offline: float
    """Seconds of session 0, for a seed."""
    online: float
    """Seconds of an online session."""
    state: int
    """Bytes of the learner's state."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is left to do for one row of a suite."""

    label: str
    directory: Path
    done: int
    """Sessions, over all seeds."""
    total: int
    offline: str
    """Names session 0; rows with the same one learn it once. Empty: not shared."""
    seconds: float | None
    """Left; None: nothing alike was run yet."""
    bytes: float | None
    """Of states that will be added."""


def plan(suite: Suite, root: Path) -> tuple[Step, ...]:
    """Return the steps of a suite below `root`, nothing being run or written."""
    records = _records(root)
    planned: set[tuple[str, int]] = set()
    steps: list[Step] = []
    for row in suite.rows:
        config, directory = row.config, directory_of(row.config, root)
        missing = open_sessions(config, directory)
        fields = offline_fields(config)
        key = "" if fields is None else digest_of(fields)[:6]
        fresh = [seed for seed, sessions in missing.items() if 0 in sessions and (key, seed) not in planned]
        if key:
            planned |= {(key, seed) for seed in fresh}
        total = len(config.seeds) * (len(config.protocol.novel) + 1)
        online = sum(session > 0 for sessions in missing.values() for session in sessions)
        cost = _cost(config, records)
        copies = sum(0 in sessions for sessions in missing.values()) + (len(fresh) if key else 0)
        left = any(missing.values())
        known = cost is not None
        steps.append(
            Step(
                label=row.label,
                directory=directory,
                done=total - sum(map(len, missing.values())),
                total=total,
                offline=key,
                seconds=len(fresh) * cost.offline + online * cost.online if known else None if left else 0.0,
                bytes=float(copies * cost.state) if known else None if left else 0.0,
            )
        )
    return tuple(steps)


def plan_table(suite: Suite, steps: Sequence[Step]) -> Table:
    """Return the steps as a table, and what they come to."""
    lines = [
        (step.label, f"{step.done}/{step.total}", step.offline or "own", _minutes(step.seconds), _megabytes(step.bytes))
        for step in steps
    ]
    minutes = _minutes(_total([step.seconds for step in steps]))
    size = _megabytes(_total([step.bytes for step in steps]))
    notes = [
        f"In all: {minutes} minutes of training and {size} MB of states; judged by runs of the same method, images, "
        "protocol and encoder, without the time of evaluation. Rows of the same session 0 learn it once.",
        *suite.remarks,
        *(f"{step.label}: {step.directory}" for step in steps),
    ]
    header = ("method", "sessions done", "session 0", "minutes left", "MB to come")
    return Table(f"{suite.title} on {suite.dataset}: {len(steps)} runs.", header, tuple(lines), tuple(notes))


def _records(root: Path) -> list[tuple[dict[str, Any], tuple[Row, ...]]]:
    """Return configuration and rows of every run below the root that can be read."""
    found: list[tuple[dict[str, Any], tuple[Row, ...]]] = []
    for file in sorted(root.glob("*/config.toml")):
        # A damaged run tells nothing of the time; that it is damaged is for the run itself to say.
        with suppress(InputError, tomllib.TOMLDecodeError):
            run: RunDirectory = existing_run(file.parent)
            found.append((tomllib.loads(read_text(run.config_file)), run.rows()))
    return found


def _cost(config: RunConfig, records: Sequence[tuple[dict[str, Any], tuple[Row, ...]]]) -> Cost | None:
    """Return what alike runs took: those with the very settings of the method where there are any."""
    own = to_mapping(config)
    alike = [
        (table, rows)
        for table, rows in records
        if all(table.get(key) == own[key] for key in ALIKE)
        and table["method"]["name"] == own["method"]["name"]
        and rows
    ]
    chosen = [rows for table, rows in alike if table["method"] == own["method"]] or [rows for _, rows in alike]
    every = [row for rows in chosen for row in rows]
    offline = [row.seconds for row in every if row.session == 0]
    online = [row.seconds for row in every if row.session > 0]
    if not offline or not online:
        return None
    return Cost(offline=fmean(offline), online=fmean(online), state=max(row.memory for row in every))


def _total(values: Sequence[float | None]) -> float | None:
    """Return the sum; None where a part of it is not known."""
    known = [value for value in values if value is not None]
    return sum(known, 0.0) if len(known) == len(values) else None


def _minutes(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else f"{seconds / 60:.1f}"


def _megabytes(size: float | None) -> str:
    return UNKNOWN if size is None else f"{size / 1e6:.1f}"
