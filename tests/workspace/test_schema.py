import sqlite3
import struct
from contextlib import closing

import pytest
from workspace import small

from metagcd.errors import InputError
from metagcd.workspace.catalogue import reading
from metagcd.workspace.database import connected
from metagcd.workspace.folder import Folder
from metagcd.workspace.schema import APPLICATION, FIRST, VERSION

MEAN = struct.pack("<2f", 0.6, 0.8)


def first_version(path):
    """A catalogue of version 1, made by hand."""
    path.mkdir()
    with closing(sqlite3.connect(path / "catalogue.sqlite")) as connection:
        for statement in FIRST:
            connection.execute(statement)
        connection.execute("INSERT INTO operations VALUES (1, '2026-01-31T12:00:00+01:00', 'fit', 'fit photos', NULL)")
        connection.execute("INSERT INTO files VALUES ('a.safetensors', 3)")
        connection.execute(
            "INSERT INTO sessions VALUES (1, 0, 'photos', x'00', 'a.safetensors', 'a.safetensors', '{}', '{}')"
        )
        connection.execute("INSERT INTO fits VALUES (1, 'seed = 0', 'a.safetensors')")
        connection.execute("INSERT INTO classes VALUES ('ant')")
        connection.execute(
            "INSERT INTO states VALUES ('ant', 1, 'Ameise', 1, 'alive', NULL, NULL, 0, ?, 0.5, 4, NULL, NULL, NULL)",
            (MEAN,),
        )
        connection.execute("INSERT INTO images VALUES (1, 1, 0, 'photos/a.jpg', x'01', 'ant', 0, 1.0, 0.0)")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    return Folder(path)


def version(folder):
    with closing(sqlite3.connect(folder.catalogue)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_a_catalogue_of_version_1_is_brought_up_to_date_with_all_it_holds(tmp_path):
    folder = first_version(tmp_path / "w")
    with reading(folder) as catalogue:
        (ant,) = catalogue.classes()
        assert (ant.id, ant.name, ant.count, ant.mean.tolist()) == ("ant", "Ameise", 4, pytest.approx([0.6, 0.8]))
        assert catalogue.fit().config == "seed = 0"
        assert [block.paths for block in catalogue.images()] == [("photos/a.jpg",)]
        assert catalogue.representatives("ant") == ()
    assert version(folder) == VERSION == 2


def test_a_migration_that_is_interrupted_leaves_the_older_version(tmp_path, monkeypatch):
    folder = first_version(tmp_path / "w")
    monkeypatch.setattr("metagcd.workspace.schema.MIGRATIONS", (FIRST, ("CREATE TABLE more (x)", "not a statement")))
    with pytest.raises(InputError, match="syntax error"), connected(folder):
        pass
    assert version(folder) == 1
    with closing(sqlite3.connect(folder.catalogue)) as connection:
        assert not connection.execute("SELECT * FROM sqlite_master WHERE name = 'more'").fetchall()


def test_a_catalogue_of_a_later_version_is_refused_in_one_line_and_left_alone(tmp_path):
    workspace = small.fitted(tmp_path)
    with closing(sqlite3.connect(workspace.folder.catalogue)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
    before = small.content(tmp_path / "w")
    with pytest.raises(InputError, match=r"later version of metagcd \(format 99; this one reads up to 2\)"):
        workspace.classes()
    with pytest.raises(InputError, match="update metagcd"):
        workspace.discover(small.batch(tmp_path / "b", {"ant": 3}))
    assert small.content(tmp_path / "w") == before


def test_a_database_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "w").mkdir()
    with closing(sqlite3.connect(tmp_path / "w" / "catalogue.sqlite")) as connection:
        connection.execute("CREATE TABLE songs (x)")
        connection.commit()
    with pytest.raises(InputError, match="not a catalogue of metagcd"), connected(Folder(tmp_path / "w")):
        pass


def test_a_row_that_refers_to_nothing_is_refused(tmp_path):
    workspace = small.fitted(tmp_path)
    with connected(workspace.folder) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO moves (image, operation, class) VALUES (9999, 1, 'ant')")
