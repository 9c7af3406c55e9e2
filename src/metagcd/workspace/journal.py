"""The journal: every command is one operation, and what was done can be undone."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from metagcd.errors import InputError

SESSIONS = ("fit", "discover")
DECISIONS = ("rename", "merge", "split", "reject")
"""Operations on classes, which the next session builds on."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A command that changed the workspace."""

    number: int
    time: str
    """When it was done, with the offset from universal time."""
    kind: str
    words: str
    """What was done, in words."""
    undone_by: int | None
    """The operation that undid it; None where it holds."""


def begin(connection: sqlite3.Connection, kind: str, words: str) -> int:
    """Note an operation; return its number."""
    time = datetime.now().astimezone().isoformat(timespec="seconds")
    done = connection.execute("INSERT INTO operations (time, kind, words) VALUES (?, ?, ?)", (time, kind, words))
    return int(done.lastrowid or 0)


def history(connection: sqlite3.Connection) -> tuple[Operation, ...]:
    """Return all that was ever done, in order."""
    rows = connection.execute("SELECT number, time, kind, words, undone_by FROM operations ORDER BY number")
    return tuple(Operation(number=n, time=t, kind=k, words=w, undone_by=u) for n, t, k, w, u in rows)


def undo(connection: sqlite3.Connection) -> Operation:
    """Undo what was done last and not yet undone; return it. Sessions are not undone, but gone back before."""
    found = [one for one in history(connection) if one.undone_by is None and one.kind != "undo"]
    last = found[-1] if found else None
    if last is None or (last.kind in SESSIONS and not _replaced_others(connection, last)):
        done = f" Last was: {last.words}. `metagcd rollback` goes back to an earlier session." if last else ""
        raise InputError(f"No decision is left to be undone.{done}")
    number = begin(connection, "undo", f"undo {last.number}: {last.words}")
    connection.execute("UPDATE operations SET undone_by = NULL WHERE undone_by = ?", (last.number,))
    connection.execute("UPDATE operations SET undone_by = ? WHERE number = ?", (number, last.number))
    return last


def go_back(connection: sqlite3.Connection, session: int) -> tuple[Operation, ...]:
    """Undo every later session and what was decided after it began; return what was undone.

    What was decided between the session and the next one stays: it was decided with that session in view.
    """
    rows = connection.execute(
        "SELECT sessions.number, operation, weights FROM sessions WHERE operation IN valid ORDER BY operation"
    ).fetchall()
    numbers = [number for number, _, _ in rows]
    if session not in numbers:
        there = ", ".join(map(str, numbers)) or "none"
        raise InputError(f"There is no session {session} to go back to; there are: {there}.")
    place = numbers.index(session)
    if rows[place][2] is None:
        raise InputError(f"The weights of session {session} were not kept; see `metagcd discover --keep`.")
    if place == len(rows) - 1:
        raise InputError(f"Session {session} is the last one; `metagcd classes undo` undoes what was decided after it.")
    begun = rows[place + 1][1]
    gone = tuple(
        one
        for one in history(connection)
        if one.number >= begun and one.undone_by is None and one.kind in (*SESSIONS, *DECISIONS)
    )
    number = begin(connection, "rollback", f"go back to session {session}")
    marks = [(number, one.number) for one in gone]
    connection.executemany("UPDATE operations SET undone_by = ? WHERE number = ?", marks)
    return gone


def replace_all(connection: sqlite3.Connection, number: int) -> None:
    """Let an operation take the place of all before it."""
    connection.execute("UPDATE operations SET undone_by = ? WHERE number < ? AND number IN valid", (number, number))


def forget(connection: sqlite3.Connection, *, keep: int | None) -> None:
    """Drop what nothing leads back to: sessions that were undone, and all weights but those of the last `keep`.

    The weights of session 0 always stay. What was done remains in the history.
    """
    gone = "SELECT operation FROM sessions WHERE operation NOT IN valid"
    of_images = f"image IN (SELECT number FROM images WHERE operation IN ({gone}))"
    for table in ("moves", "representatives"):
        connection.execute(f"DELETE FROM {table} WHERE {of_images}")
    connection.execute(f"DELETE FROM images WHERE operation IN ({gone})")
    connection.execute(f"DELETE FROM fits WHERE operation IN ({gone})")
    connection.execute(f"UPDATE sessions SET weights = NULL, features = NULL WHERE operation IN ({gone})")
    if keep is not None:
        late = "SELECT operation FROM sessions WHERE operation IN valid ORDER BY operation DESC LIMIT ?"
        older = f"number > 0 AND operation IN valid AND operation NOT IN ({late})"
        connection.execute(f"UPDATE sessions SET weights = NULL WHERE {older}", (keep,))
    named = (
        "SELECT weights FROM sessions WHERE weights NOT NULL UNION SELECT features FROM sessions "
        "WHERE features NOT NULL UNION SELECT encoder FROM fits"
    )
    connection.execute(f"DELETE FROM files WHERE name NOT IN ({named})")


def files(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names of the files that belong to the workspace."""
    return frozenset(name for (name,) in connection.execute("SELECT name FROM files"))


def _replaced_others(connection: sqlite3.Connection, operation: Operation) -> bool:
    found = connection.execute("SELECT count(*) FROM operations WHERE undone_by = ?", (operation.number,)).fetchone()
    return bool(found[0])
