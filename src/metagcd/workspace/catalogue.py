"""What the catalogue tells: classes with their lineage, sessions, and images in blocks, however many there are."""

import json
import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from metagcd.errors import InputError
from metagcd.types import Array
from metagcd.workspace.book import ClassState, heirs, present
from metagcd.workspace.database import connected
from metagcd.workspace.folder import Folder
from metagcd.workspace.types import UNSURE

BLOCK = 4096
"""Images that are read or written at a time."""
QUESTIONS = 500
"""Values in one question to the catalogue."""


@dataclass(frozen=True, kw_only=True)
class SessionRecord:
    """A session as the catalogue has it; number 0 is the fit."""

    number: int
    operation: int
    time: str
    source: str
    """What was given: a folder, a table, a file."""
    weights: str | None
    """File of the learner's state after it; None where it was not kept."""
    features: str | None
    """File of the features of its images under the encoder after it."""
    judge: dict[str, Any]
    """Values that the calibrated decision is made of."""
    facts: dict[str, Any]
    """Counts, the interval of new classes, seconds."""


@dataclass(frozen=True, kw_only=True)
class FitRecord:
    """Session 0 as the catalogue has it."""

    config: str
    """The configuration as TOML."""
    encoder: str
    """File of the encoder as it was before training."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageBlock:
    """Some images, in the order in which they came; every column has one value per image."""

    numbers: Int[Array, " n"]
    """Names of the images in the catalogue."""
    paths: tuple[str, ...]
    classes: tuple[str | None, ...]
    """Id of the class that has the image now; of an unsure image the likeliest; None where there was no class."""
    verdicts: Int[Array, " n"]
    """KNOWN, UNSURE or NEW when it was looked at."""
    confidence: Float[Array, " n"]
    novelty: Float[Array, " n"]
    sessions: Int[Array, " n"]
    rows: Int[Array, " n"]
    """Rows in the session's file of features."""

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.paths)


@dataclass(frozen=True)
class Catalogue:
    """The catalogue, open."""

    connection: sqlite3.Connection

    def classes(self) -> tuple[ClassState, ...]:
        """Return all classes that ever were and hold, merged and rejected ones too."""
        return present(self.connection)

    def sessions(self) -> tuple[SessionRecord, ...]:
        """Return the sessions that hold, in order; the first is the fit."""
        rows = self.connection.execute(
            "SELECT sessions.number, operation, time, source, weights, features, judge, facts FROM sessions "
            "JOIN operations ON operations.number = operation WHERE operation IN valid ORDER BY operation"
        )
        return tuple(_session(row) for row in rows)

    def fit(self) -> FitRecord:
        """Return the fit that holds, or say that there is none."""
        row = self.connection.execute("SELECT config, encoder FROM fits WHERE operation IN valid").fetchone()
        if row is None:
            raise InputError("The workspace has not been fitted yet; `metagcd fit` does that.")
        return FitRecord(config=row[0], encoder=row[1])

    def images(self, *, session: int | None = None, of_class: str | None = None) -> Iterator[ImageBlock]:
        """Yield images with what holds of them now, in blocks: of a session, those surely of a class, or all."""
        heir = heirs(self.classes())
        conditions, values = ["1"], list[Any]()
        if session is not None:
            conditions.append("sessions.number = ?")
            values.append(session)
        if of_class is not None:
            own = [one for one, last in heir.items() if last == of_class]
            conditions.append(f"own IN ({', '.join('?' * len(own))}) AND verdict != {UNSURE}")
            values += own
        cursor = self.connection.execute(
            "SELECT placed.number, path, own, verdict, confidence, novelty, sessions.number, feature FROM placed "
            f"JOIN sessions USING (operation) WHERE {' AND '.join(conditions)} ORDER BY placed.number",
            values,
        )
        while rows := cursor.fetchmany(BLOCK):
            yield _block(rows, heir)

    def image_counts(self) -> dict[str, int]:
        """Return how many images every class has now."""
        heir, found = heirs(self.classes()), dict[str, int]()
        sure = f"SELECT own, count(*) FROM placed WHERE own NOT NULL AND verdict != {UNSURE} GROUP BY own"
        for one, count in self.connection.execute(sure):
            found[heir[one]] = found.get(heir[one], 0) + count
        return found

    def representatives(self, one: str) -> tuple[str, ...]:
        """Return the paths of a class's typical images, best first, as of when it was brought or split."""
        rows = self.connection.execute(
            "SELECT path FROM representatives JOIN images ON images.number = image "
            "WHERE representatives.class = ?1 AND representatives.operation = ("
            "SELECT max(operation) FROM representatives WHERE class = ?1 AND operation IN valid) ORDER BY place",
            (one,),
        )
        return tuple(_path(path) for (path,) in rows)

    def seen(self, contents: UInt8[Array, "n 16"]) -> Int[Array, " n"]:
        """Return the catalogue's number of the image with each content; -1 where there is none."""
        found = np.full(len(contents), -1, dtype=np.int64)
        for start in range(0, len(contents), QUESTIONS):
            asked = [row.tobytes() for row in contents[start : start + QUESTIONS]]
            marks = ", ".join("?" * len(asked))
            rows = self.connection.execute(
                f"SELECT content, min(number) FROM placed WHERE content IN ({marks}) GROUP BY content", asked
            )
            known = dict(rows.fetchall())
            found[start : start + len(asked)] = [known.get(one, -1) for one in asked]
        return found

    def decided(self, numbers: Int[Array, " n"]) -> list[tuple[str | None, int, float, float]]:
        """Return class (of an unsure image the likeliest), verdict, confidence and novelty of images, by number."""
        heir, found = heirs(self.classes()), dict[int, tuple[str | None, int, float, float]]()
        for start in range(0, len(numbers), QUESTIONS):
            asked = numbers[start : start + QUESTIONS].tolist()
            rows = self.connection.execute(
                "SELECT number, own, verdict, confidence, novelty FROM placed "
                f"WHERE number IN ({', '.join('?' * len(asked))})",
                asked,
            )
            found |= {number: (own and heir[own], *rest) for number, own, *rest in rows}
        return [found[number] for number in numbers.tolist()]

    def batch(self, fingerprint: bytes) -> int | None:
        """Return the session that a batch was, if it was one."""
        row = self.connection.execute(
            "SELECT number FROM sessions WHERE batch = ? AND operation IN valid", (fingerprint,)
        ).fetchone()
        return None if row is None else int(row[0])


@contextmanager
def reading(folder: Folder) -> Generator[Catalogue]:
    """Open the catalogue and see it as it is at this moment, whatever other processes do; change nothing."""
    with connected(folder) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        yield Catalogue(connection)
        connection.execute("ROLLBACK")


def storable(path: str) -> str | bytes:
    """Return a path as SQLite can hold it, whatever its bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def _path(stored: str | bytes) -> str:
    return os.fsdecode(stored)


def _session(row: tuple[Any, ...]) -> SessionRecord:
    number, operation, time, source, weights, features, judge, facts = row
    return SessionRecord(
        number=number,
        operation=operation,
        time=time,
        source=source,
        weights=weights,
        features=features,
        judge=json.loads(judge),
        facts=json.loads(facts),
    )


def _block(rows: list[tuple[Any, ...]], heir: dict[str, str]) -> ImageBlock:
    numbers, paths, own, verdicts, confidence, novelty, sessions, features = zip(*rows, strict=True)
    return ImageBlock(
        numbers=np.array(numbers, dtype=np.int64),
        paths=tuple(map(_path, paths)),
        classes=tuple(None if one is None else heir[one] for one in own),
        verdicts=np.array(verdicts, dtype=np.int8),
        confidence=np.array(confidence, dtype=np.float64),
        novelty=np.array(novelty, dtype=np.float64),
        sessions=np.array(sessions, dtype=np.int64),
        rows=np.array(features, dtype=np.int64),
    )
