"""The catalogue of a workspace: made, opened, checked, and changed in transactions."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from metagcd.config import reason
from metagcd.errors import InputError
from metagcd.workspace.folder import Folder
from metagcd.workspace.schema import migrate, version_of

BUSY = 60.0
"""Seconds to wait for a transaction of another process; each is short."""

BEGUN = ".catalogue.sqlite"
"""The catalogue while it is made, and the beginning of the names that SQLite gives to files beside it."""


@contextmanager
def connected(folder: Folder) -> Generator[sqlite3.Connection]:
    """Open the catalogue, of this version and sound, or say in a line why that cannot be done."""
    if not folder.exists:
        raise InputError(f"{folder.path} holds no workspace; `metagcd fit` makes one.")
    try:
        with closing(_connection(folder.catalogue)) as connection:
            _prepare(connection, folder)
            yield connection
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise  # a mistake of ours
    except sqlite3.DatabaseError as error:
        raise InputError(f"Cannot use {folder.catalogue}: {error}. Nothing was changed.") from error


def require_free(folder: Folder) -> None:
    """Refuse a folder that holds anything but a workspace, or what a process left that was killed as it made one."""
    try:
        there = [path.name for path in folder.path.iterdir()] if folder.path.exists() else []
    except OSError as error:
        raise InputError(f"Cannot make a workspace in {folder.path}: {reason(error)}.") from error
    if not folder.exists and any(name != "lock" and not name.startswith(BEGUN) for name in there):
        raise InputError(f"{folder.path} is not empty and holds no workspace; choose another folder.")


def create(folder: Folder) -> None:
    """Make an empty catalogue; it appears under its name when it is whole."""
    scratch = folder.path / BEGUN
    try:
        for left in folder.path.glob(f"{BEGUN}*"):
            left.unlink()
        scratch.touch()
        with closing(_connection(scratch)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection)
        scratch.replace(folder.catalogue)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"Cannot make a workspace in {folder.path}: {reason(error)}.") from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Carry out all of it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _connection(path: Path) -> sqlite3.Connection:
    # A folder that cannot be written to has no room for the log of transactions, and nobody writes one there.
    how = "mode=rw" if os.access(path.parent, os.W_OK) else "immutable=1"
    log = path.with_name(f"{path.name}-wal")
    if how == "immutable=1" and log.exists() and log.stat().st_size:
        raise InputError(f"{path.parent} cannot be written to, and has to be: its last command was not finished.")
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", timeout=BUSY, uri=True)
    connection.isolation_level = None  # transactions begin and end where this package says
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _prepare(connection: sqlite3.Connection, folder: Folder) -> None:
    """Refuse a catalogue that is damaged or of a later version; bring an older one up to date."""
    try:
        if version_of(connection) == 0:
            raise InputError("it is empty; put it back from a copy")
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            raise InputError(f"it is damaged ({found.splitlines()[-1]}); put it back from a copy")
        migrate(connection)
    except InputError as error:
        raise InputError(f"Cannot use {folder.catalogue}: {error}. Nothing was changed.") from error
