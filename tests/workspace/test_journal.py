import pytest

from metagcd.errors import InputError
from metagcd.workspace import journal
from metagcd.workspace.database import connected, create, transaction
from metagcd.workspace.folder import Folder


@pytest.fixture
def connection(tmp_path):
    create(Folder(tmp_path))
    with connected(Folder(tmp_path)) as opened, transaction(opened):
        yield opened


def session(connection, number, kind="discover", weights="w"):
    operation = journal.begin(connection, kind, f"session {number}")
    if kind == "fit":
        journal.replace_all(connection, operation)
    for name in (weights, f"features-{operation}"):
        if name:
            connection.execute("INSERT OR IGNORE INTO files VALUES (?, 1)", (name,))
    connection.execute(
        "INSERT INTO sessions VALUES (?, ?, 'photos', x'00', ?, ?, '{}', '{}')",
        (operation, number, weights, f"features-{operation}"),
    )
    return operation


def valid(connection):
    return [one.words for one in journal.history(connection) if one.undone_by is None and one.kind != "undo"]


def decide(connection, words):
    journal.begin(connection, "rename", words)


def test_decisions_are_undone_one_by_one_down_to_the_last_session(connection):
    session(connection, 0, "fit")
    decide(connection, "a")
    decide(connection, "b")
    assert [journal.undo(connection).words, journal.undo(connection).words] == ["b", "a"]
    with pytest.raises(InputError, match=r"left to be undone\. Last was: session 0\. `metagcd rollback`"):
        journal.undo(connection)
    assert valid(connection) == ["session 0"]
    assert len(journal.history(connection)) == 5


def test_nothing_can_be_undone_where_nothing_was_done(connection):
    with pytest.raises(InputError, match="No decision is left"):
        journal.undo(connection)


def test_going_back_undoes_later_sessions_and_what_was_decided_after_them(connection):
    session(connection, 0, "fit")
    decide(connection, "with 0 in view")
    session(connection, 1)
    decide(connection, "with 1 in view")
    session(connection, 2)
    gone = journal.go_back(connection, 0)
    assert [one.words for one in gone] == ["session 1", "with 1 in view", "session 2"]
    assert valid(connection) == ["session 0", "with 0 in view", "go back to session 0"]


def test_going_back_can_be_undone(connection):
    session(connection, 0, "fit")
    session(connection, 1)
    session(connection, 2)
    decide(connection, "late")
    before = valid(connection)
    journal.go_back(connection, 1)
    journal.go_back(connection, 0)
    journal.undo(connection)
    assert valid(connection) == ["session 0", "session 1", "go back to session 1"]
    journal.undo(connection)
    assert valid(connection) == before


def test_a_fit_in_the_place_of_another_can_be_undone(connection):
    session(connection, 0, "fit")
    session(connection, 1)
    decide(connection, "a")
    before = valid(connection)
    session(connection, 0, "fit")
    assert valid(connection) == ["session 0"]
    journal.undo(connection)
    assert valid(connection) == before


@pytest.mark.parametrize(
    ("number", "told"),
    [(1, "Session 1 is the last one"), (7, "There is no session 7 to go back to; there are: 0, 1")],
)
def test_where_one_cannot_go_back_to_it_is_said(connection, number, told):
    session(connection, 0, "fit")
    session(connection, 1)
    with pytest.raises(InputError, match=told):
        journal.go_back(connection, number)


def test_weights_of_older_sessions_go_when_few_are_to_stay_but_the_first_ones_never(connection):
    session(connection, 0, "fit", "w0")
    for number in (1, 2, 3):
        session(connection, number, weights=f"w{number}")
    journal.forget(connection, keep=2)
    assert {name for name in journal.files(connection) if name.startswith("w")} == {"w0", "w2", "w3"}
    with pytest.raises(InputError, match="The weights of session 1 were not kept"):
        journal.go_back(connection, 1)
    journal.go_back(connection, 2)


def test_files_of_sessions_that_were_undone_go_with_the_next_session(connection):
    session(connection, 0, "fit", "w0")
    session(connection, 1, weights="w1")
    journal.go_back(connection, 0)
    assert "w1" in journal.files(connection)
    session(connection, 1, weights="w2")
    journal.forget(connection, keep=None)
    assert journal.files(connection) == {"w0", "w2", "features-1", "features-4"}
