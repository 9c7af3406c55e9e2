"""Write what a session brought into the catalogue; the caller makes it one transaction."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.data.contents import Places
from metagcd.types import Array
from metagcd.workspace.book import ClassState, write
from metagcd.workspace.catalogue import BLOCK, storable
from metagcd.workspace.folder import Kept
from metagcd.workspace.types import Scores


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The images of a session as they are to be recorded: one row per file, whatever its content."""

    rows: Int[Array, " n"]
    """Their places in what was given."""
    paths: Places
    """Where all that was given lies."""
    contents: UInt8[Array, "n 16"]
    features: Int[Array, " n"]
    """Rows of the session's features; equal images share one."""
    scores: Scores
    """What was decided of each row of features."""
    ids: tuple[str, ...]
    """The class that each `place` of the scores means."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What is kept of a session."""

    number: int
    source: str
    batch: bytes
    weights: Kept
    features: Kept
    judge: dict[str, Any]
    facts: dict[str, Any]
    states: tuple[ClassState, ...]
    """The classes as the session leaves them."""
    images: Recorded
    typical: dict[str, Int[Array, " r"]] = field(default_factory=dict[str, Any])
    """Rows of features of the images that are typical of a class, best first."""


def add_file(connection: sqlite3.Connection, file: Kept) -> None:
    """Let a file belong to the workspace."""
    connection.execute("INSERT OR IGNORE INTO files (name, bytes) VALUES (?, ?)", (file.name, file.bytes))


def add_session(connection: sqlite3.Connection, operation: int, session: Session) -> None:
    """Record a session with its images and classes."""
    add_file(connection, session.weights)
    add_file(connection, session.features)
    connection.execute(
        "INSERT INTO sessions (operation, number, source, batch, weights, features, judge, facts) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            operation,
            session.number,
            session.source,
            session.batch,
            session.weights.name,
            session.features.name,
            json.dumps(session.judge),
            json.dumps(session.facts),
        ),
    )
    write(connection, operation, session.states)
    first = 1 + int(connection.execute("SELECT coalesce(max(number), 0) FROM images").fetchone()[0])
    connection.executemany(
        "INSERT INTO images (number, operation, feature, path, content, class, verdict, confidence, novelty) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _rows(session.images, first, operation),
    )
    # Of equal images the first stands for all.
    features, places = np.unique(session.images.features, return_index=True)
    number = dict(zip(features.tolist(), (first + places).tolist(), strict=True))
    connection.executemany(
        "INSERT INTO representatives (class, operation, place, image) VALUES (?, ?, ?, ?)",
        (
            (one, operation, place, number[row])
            for one, chosen in session.typical.items()
            for place, row in enumerate(chosen.tolist())
        ),
    )


def _rows(images: Recorded, first: int, operation: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table one by one, so that a million never stand beside one another."""
    for start in range(0, len(images.rows), BLOCK):
        part = slice(start, start + BLOCK)
        features = images.features[part]
        decided = images.scores.rows(features)
        columns = zip(
            images.rows[part].tolist(),
            images.contents[part],
            features.tolist(),
            decided.place.tolist(),
            decided.verdict.tolist(),
            decided.confidence.tolist(),
            decided.novelty.tolist(),
            strict=True,
        )
        for offset, (row, content, feature, place, verdict, confidence, novelty) in enumerate(columns):
            own = images.ids[place] if place >= 0 else None
            path, number = storable(images.paths[row]), first + start + offset
            yield number, operation, feature, path, content.tobytes(), own, verdict, confidence, novelty
