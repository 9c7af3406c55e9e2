"""What the catalogue is made of, and how the file of an older version becomes one of this."""

import sqlite3

from metagcd.errors import InputError

APPLICATION = 0x6D674344
"""Marks an SQLite file as a catalogue of ours: `mgCD`."""

FIRST = (
    """CREATE TABLE operations (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL,
        kind TEXT NOT NULL,
        words TEXT NOT NULL,
        undone_by INTEGER REFERENCES operations
    )""",
    "CREATE TABLE files (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL)",
    """CREATE TABLE sessions (
        operation INTEGER PRIMARY KEY REFERENCES operations,
        number INTEGER NOT NULL,
        source TEXT NOT NULL,
        batch BLOB NOT NULL,
        weights TEXT REFERENCES files,
        features TEXT REFERENCES files,
        judge TEXT NOT NULL,
        facts TEXT NOT NULL
    )""",
    """CREATE TABLE fits (
        operation INTEGER PRIMARY KEY REFERENCES sessions,
        config TEXT NOT NULL,
        encoder TEXT NOT NULL REFERENCES files
    )""",
    "CREATE TABLE classes (id TEXT PRIMARY KEY)",
    """CREATE TABLE states (
        class TEXT NOT NULL REFERENCES classes,
        operation INTEGER NOT NULL REFERENCES operations,
        name TEXT NOT NULL,
        known INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('alive', 'rejected', 'merged')),
        heir TEXT REFERENCES classes,
        parent TEXT REFERENCES classes,
        born INTEGER NOT NULL,
        mean BLOB NOT NULL,
        spread REAL,
        count INTEGER NOT NULL,
        nearest TEXT REFERENCES classes,
        similarity REAL,
        cohesion REAL,
        PRIMARY KEY (class, operation)
    ) WITHOUT ROWID""",
    "CREATE INDEX states_of_operation ON states (operation)",
    """CREATE TABLE images (
        number INTEGER PRIMARY KEY,
        operation INTEGER NOT NULL REFERENCES sessions,
        feature INTEGER NOT NULL,
        path NOT NULL,
        content BLOB NOT NULL,
        class TEXT REFERENCES classes,
        verdict INTEGER NOT NULL,
        confidence REAL NOT NULL,
        novelty REAL NOT NULL
    )""",
    "CREATE INDEX images_by_content ON images (content)",
    "CREATE INDEX images_by_operation ON images (operation)",
    "CREATE INDEX images_by_class ON images (class)",
    """CREATE TABLE moves (
        image INTEGER NOT NULL REFERENCES images,
        operation INTEGER NOT NULL REFERENCES operations,
        class TEXT NOT NULL REFERENCES classes,
        PRIMARY KEY (image, operation)
    ) WITHOUT ROWID""",
    "CREATE VIEW valid AS SELECT number FROM operations WHERE undone_by IS NULL",
    """CREATE VIEW present AS SELECT states.* FROM states JOIN (
        SELECT class, max(operation) AS operation FROM states WHERE operation IN valid GROUP BY class
    ) USING (class, operation)""",
    """CREATE VIEW placed AS SELECT images.*, coalesce((
        SELECT moves.class FROM moves WHERE moves.image = images.number AND moves.operation IN valid
        ORDER BY moves.operation DESC LIMIT 1
    ), images.class) AS own FROM images WHERE operation IN valid""",
)
"""The catalogue of version 1.

`operations` is the journal: every command is one row, and every other row belongs to an operation. Nothing is changed
in place: what an operation leaves of a class is a row of `states`, and what holds is the latest row of an operation
that was not undone. Undoing and rolling back therefore mark operations, and can themselves be undone.
"""

SECOND = (
    """CREATE TABLE representatives (
        class TEXT NOT NULL REFERENCES classes,
        operation INTEGER NOT NULL REFERENCES operations,
        place INTEGER NOT NULL,
        image INTEGER NOT NULL REFERENCES images,
        PRIMARY KEY (class, operation, place)
    ) WITHOUT ROWID""",
    "CREATE INDEX representatives_of_image ON representatives (image)",
    "CREATE INDEX moves_of_operation ON moves (operation)",
)
"""From version 1 to version 2: the typical images of a class."""

MIGRATIONS = (FIRST, SECOND)
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the file, 0 when nothing is in it yet; refuse files of others and of later versions."""
    version, application, tables = (
        int(connection.execute(question).fetchone()[0])
        for question in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    if application != APPLICATION and (version or application or tables):
        raise InputError("it is a database, but not a catalogue of metagcd")
    if version > VERSION:
        raise InputError(
            f"it was written by a later version of metagcd (format {version}; this one reads up to {VERSION}); "
            "update metagcd"
        )
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version, in one transaction."""
    if version_of(connection) == VERSION:
        return
    connection.execute("BEGIN EXCLUSIVE")
    try:
        for statements in MIGRATIONS[version_of(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
