import os
import sqlite3

import pytest
from workspace import small

from metagcd.errors import InputError
from metagcd.workspace.catalogue import reading
from metagcd.workspace.database import connected, create, require_free, transaction
from metagcd.workspace.folder import Folder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "w").mkdir()
    create(Folder(tmp_path / "w"))
    return Folder(tmp_path / "w")


def names(folder):
    with connected(folder) as connection:
        return [name for (name,) in connection.execute("SELECT id FROM classes ORDER BY id")]


def test_a_transaction_is_carried_out_whole_or_not_at_all(folder):
    with connected(folder) as connection, transaction(connection):
        connection.execute("INSERT INTO classes VALUES ('ant')")
    with pytest.raises(sqlite3.IntegrityError), connected(folder) as connection, transaction(connection):
        connection.executemany("INSERT INTO classes VALUES (?)", [("bee",), ("ant",)])
    assert names(folder) == ["ant"]


def test_the_log_of_transactions_is_written_ahead_and_gone_when_nobody_uses_it(folder):
    with connected(folder) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert [path.name for path in folder.path.iterdir()] == ["catalogue.sqlite"]


def test_reading_changes_nothing_and_cannot(folder):
    before = small.content(folder.path)
    with reading(folder) as catalogue, pytest.raises(sqlite3.OperationalError, match="readonly"):
        catalogue.connection.execute("INSERT INTO classes VALUES ('ant')")
    assert small.content(folder.path) == before


def test_a_reader_sees_one_moment_whatever_others_write(folder):
    with reading(folder) as catalogue:
        assert catalogue.classes() == ()
        with connected(folder) as connection, transaction(connection):
            connection.execute("INSERT INTO classes VALUES ('ant')")
        assert catalogue.connection.execute("SELECT count(*) FROM classes").fetchone()[0] == 0
    assert names(folder) == ["ant"]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda _: b"", "it is empty"),
        (lambda _: b"not a database at all" * 50, "not a database"),
        (lambda data: data[:5000], "malformed|damaged"),
        (lambda data: data[:8192] + os.urandom(4096) + data[12288:], "malformed|damaged"),
    ],
)
def test_a_damaged_catalogue_is_told_in_one_line_and_left_alone(tmp_path, damage, told):
    workspace = small.fitted(tmp_path)
    file = workspace.folder.catalogue
    file.write_bytes(damage(file.read_bytes()))
    before = file.read_bytes()
    for verb in (workspace.classes, workspace.history, lambda: workspace.rename("ant", "Ameise")):
        with pytest.raises(InputError, match=told) as error:
            verb()
        assert "\n" not in str(error.value)
        assert str(file) in str(error.value)
    assert file.read_bytes() == before


def test_a_workspace_that_cannot_be_written_to_can_be_read(folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with reading(folder) as catalogue:
        assert catalogue.classes() == ()
    folder.catalogue.with_name("catalogue.sqlite-wal").write_bytes(b"x")
    with pytest.raises(InputError, match="cannot be written to"), reading(folder):
        pass


def test_where_there_is_no_workspace_it_is_said(tmp_path):
    with pytest.raises(InputError, match="holds no workspace; `metagcd fit` makes one"), connected(Folder(tmp_path)):
        pass


def test_a_folder_with_other_things_in_it_is_not_taken(tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(InputError, match="not empty and holds no workspace"):
        require_free(Folder(tmp_path))
    require_free(Folder(tmp_path / "new"))


def test_what_a_process_left_that_was_killed_as_it_made_a_workspace_is_no_hindrance(tmp_path):
    for name in ("lock", ".catalogue.sqlite", ".catalogue.sqlite-wal"):
        (tmp_path / name).write_bytes(b"begun")
    require_free(Folder(tmp_path))
    create(Folder(tmp_path))
    assert names(Folder(tmp_path)) == []
