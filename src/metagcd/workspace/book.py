"""The classes of a workspace as they are: who is alive, under what name, with what statistics."""

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Float32

from metagcd.data.parts import natural
from metagcd.errors import InputError, unknown_name
from metagcd.types import Array
from metagcd.workspace.types import ClassTable

Status = Literal["alive", "rejected", "merged"]
COLUMNS = "class, name, known, status, heir, parent, born, mean, spread, count, nearest, similarity, cohesion"


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassState:
    """What is held of a class at a moment."""

    id: str
    """Given once and never again: `ant` for a class that was taught, `novel-0001` for one that was discovered."""
    name: str
    """What it is called at present."""
    known: bool
    """Taught with labels."""
    status: Status
    """`rejected`: recognised, so that it does not come back, but not counted; `merged`: its images are `heir`'s."""
    heir: str | None = None
    parent: str | None = None
    """The class that it was split from."""
    born: int
    """The session that brought it."""
    mean: Float32[Array, " d"]
    spread: float
    count: int
    """Images behind mean and spread."""
    nearest: str | None = None
    """The class it was nearest to when it was discovered."""
    similarity: float | None = None
    """The cosine between both means then."""
    cohesion: float | None = None
    """How firmly it held together then, in [0, 1]."""


def present(connection: sqlite3.Connection) -> tuple[ClassState, ...]:
    """Return all classes that were not undone: the taught ones first, each kind in natural order."""
    states = [_state(row) for row in connection.execute(f"SELECT {COLUMNS} FROM present")]
    return tuple(sorted(states, key=lambda state: (not state.known, natural(state.id))))


def recognised(states: Iterable[ClassState]) -> tuple[ClassState, ...]:
    """Return those that images are compared with: the rejected ones too, lest they are discovered again."""
    return tuple(state for state in states if state.status != "merged")


def table_of_states(states: Sequence[ClassState], dim: int = 0) -> ClassTable:
    """Return the statistics of classes; `dim` is the width of features where there are no classes."""
    means = [state.mean for state in states]
    return ClassTable(
        ids=tuple(state.id for state in states),
        means=np.stack(means) if means else np.zeros((0, dim), dtype=np.float32),
        spreads=np.array([state.spread for state in states], dtype=np.float64),
        counts=np.array([state.count for state in states], dtype=np.int64),
        known=np.array([state.known for state in states], dtype=np.bool_),
    )


def with_statistics(states: Sequence[ClassState], table: ClassTable) -> tuple[ClassState, ...]:
    """Return the classes with the statistics of the first rows of a table, which are theirs."""
    return tuple(
        replace(
            state,
            mean=np.asarray(table.means[row], dtype=np.float32),
            spread=float(table.spreads[row]),
            count=int(table.counts[row]),
        )
        for row, state in enumerate(states)
    )


def write(connection: sqlite3.Connection, operation: int, states: Iterable[ClassState]) -> None:
    """Note what an operation leaves of classes."""
    for state in states:
        connection.execute("INSERT OR IGNORE INTO classes (id) VALUES (?)", (state.id,))
        connection.execute(
            f"INSERT INTO states ({COLUMNS}, operation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*_row(state), operation),
        )


def heirs(states: Iterable[ClassState]) -> dict[str, str]:
    """Return for every class the one that has its images now: itself, or the last of those it was merged into."""
    next_of = {state.id: state.heir if state.status == "merged" and state.heir else state.id for state in states}
    found: dict[str, str] = {}
    for one in next_of:
        last = one
        while next_of[last] != last:
            last = next_of[last]
        found[one] = last
    return found


def new_ids(connection: sqlite3.Connection, count: int) -> tuple[str, ...]:
    """Return ids for discovered classes that were never given before, not even in sessions that were undone."""
    given = connection.execute("SELECT id FROM classes WHERE id GLOB 'novel-[0-9]*'")
    numbers = [int(number) for (one,) in given if (number := one.removeprefix("novel-")).isdecimal()]
    first = max(numbers, default=0) + 1
    return tuple(f"novel-{number:04}" for number in range(first, first + count))


def named(states: Sequence[ClassState], word: str) -> ClassState:
    """Return the class of this id or name; say what there is where there is none."""
    for state in states:
        if state.id == word:
            if state.status == "merged":
                raise InputError(f"Class `{word}` was merged into `{heirs(states)[word]}`.")
            return state
    found = [state for state in recognised(states) if state.name == word]
    if len(found) == 1:
        return found[0]
    raise unknown_name("class", word, {state.id for state in recognised(states)} | {s.name for s in recognised(states)})


def pooled(states: Sequence[ClassState]) -> tuple[Float32[Array, " d"], float, int]:
    """Return mean, spread and number of images of several classes taken as one, as if of their images."""
    counts = np.array([state.count for state in states], dtype=np.float64)
    means = np.stack([state.mean for state in states]).astype(np.float64)
    total = counts.sum()
    mean = counts @ means / max(total, 1.0)
    within = sum((state.count - 1) * state.spread**2 for state in states if state.count > 1)
    between = float(counts @ np.square(means - mean).sum(axis=1))
    spread = math.sqrt((within + between) / (total - 1)) if total > 1 else math.nan
    return mean.astype(np.float32), spread, int(total)


def _row(state: ClassState) -> tuple[Any, ...]:
    mean = np.asarray(state.mean, dtype="<f4").tobytes()
    spread = None if math.isnan(state.spread) else state.spread
    lineage = (state.id, state.name, state.known, state.status, state.heir, state.parent, state.born)
    return (*lineage, mean, spread, state.count, state.nearest, state.similarity, state.cohesion)


def _state(row: tuple[Any, ...]) -> ClassState:
    one, name, known, status, heir, parent, born, mean, spread, count, nearest, similarity, cohesion = row
    return ClassState(
        id=one,
        name=name,
        known=bool(known),
        status=status,
        heir=heir,
        parent=parent,
        born=born,
        mean=np.frombuffer(mean, dtype="<f4").astype(np.float32),
        spread=math.nan if spread is None else spread,
        count=count,
        nearest=nearest,
        similarity=similarity,
        cohesion=cohesion,
    )


def statistics(features: Float[Array, "n d"]) -> tuple[Float32[Array, " d"], float, int]:
    """Return mean, spread and number of images."""
    mean = features.mean(axis=0, dtype=np.float64)
    squares = float(np.square(features - mean).sum())
    spread = math.sqrt(squares / (len(features) - 1)) if len(features) > 1 else math.nan
    return mean.astype(np.float32), spread, len(features)
