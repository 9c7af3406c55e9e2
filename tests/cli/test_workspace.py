import json
from pathlib import Path

import pytest
from cli.spoken import said
from workspace import small

QUICK = [
    "--encoder",
    "tiny",
    "--method",
    "frozen",
    "--device",
    "cpu",
    *(f"encoder.{key}={value}" for key, value in small.ENCODER.items()),
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    small.labelled(Path("photos"))
    small.batch(Path("march"), {"ant": 8, "wasp": 12})
    return tmp_path


@pytest.fixture
def fitted(capsys):
    assert said(capsys, "fit", "photos", "-w", "w", *QUICK)[0] == 0


def test_a_fit_tells_its_choices_and_how_good_it_is(capsys):
    code, out, err = said(capsys, "fit", "photos", "-w", "w", *QUICK)
    assert code == 0
    assert "3 classes, 60 images, 12 held out." in out
    assert "Right on held-out images: 100.0 %." in out
    assert "encoder  tiny" in err
    assert "method   frozen" in err
    code, _, err = said(capsys, "fit", "photos", "-w", "w", *QUICK)
    assert (code, err.count("\n")) == (2, 1)
    assert "--force starts again" in err
    facts = json.loads(said(capsys, "fit", "photos", "-w", "w", *QUICK, "--force", "--json")[1])
    assert (facts["accuracy"], facts["path"]) == (1.0, "w")


def test_a_session_is_previewed_learned_and_known_again(capsys, fitted):
    code, out, _ = said(capsys, "discover", "march", "-w", "w", "--preview", "--quiet")
    assert code == 0
    assert out.startswith("Preview, nothing is changed: 20 images; 8 known, 12 new, 0 unsure, 0 rejected.")
    _, out, err = said(capsys, "discover", "march", "-w", "w", "--quiet")
    assert (err, out.startswith("Session 1: 20 images; 8 known, 12 new")) == ("", True)
    assert "New classes: 1 (between 1 and 1)." in out
    assert "novel-0001" in out
    assert said(capsys, "discover", "march", "-w", "w")[1] == "This batch is session 1 already; nothing was changed.\n"
    (Path("march") / "ant-1-000.png").unlink()
    assert said(capsys, "discover", "march", "-w", "w")[1] == "All 19 images were met before; nothing was changed.\n"
    assert json.loads(said(capsys, "discover", "march", "-w", "w", "--json")[1])["outcome"] == "nothing new"


def test_classes_are_listed_decided_about_undone_and_gone_back_from(capsys, fitted):
    said(capsys, "discover", "march", "-w", "w")
    assert said(capsys, "classes", "rename", "novel-0001", "wasp", "-w", "w")[1] == "rename novel-0001 to wasp.\n"
    assert said(capsys, "classes", "split", "wasp", "-w", "w")[1] == "split novel-0001: novel-0002.\n"
    merged = said(capsys, "classes", "merge", "novel-0001", "novel-0002", "-w", "w")[1]
    assert merged == "merge novel-0002 into novel-0001.\n"
    assert said(capsys, "classes", "reject", "wasp", "-w", "w")[1] == "reject novel-0001.\n"
    assert said(capsys, "classes", "undo", "-w", "w")[1] == "undone: reject novel-0001.\n"
    lines = [json.loads(line) for line in said(capsys, "classes", "list", "-w", "w", "--json")[1].splitlines()]
    assert [(line["id"], line["name"], line["images"]) for line in lines][3] == ("novel-0001", "wasp", 12)
    listed = said(capsys, "classes", "list", "-w", "w")[1]
    assert listed.splitlines()[0] == "4 classes"
    assert "session 1" in listed
    assert "undone: session 1, march" in said(capsys, "rollback", "0", "-w", "w")[1]
    history = said(capsys, "classes", "history", "-w", "w")[1]
    assert history.splitlines()[0] == "8 operations"
    kinds = [
        json.loads(line)["kind"] for line in said(capsys, "classes", "history", "-w", "w", "--json")[1].splitlines()
    ]
    assert kinds == ["fit", "discover", "rename", "split", "merge", "reject", "undo", "rollback"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fit", "photos"], "--workspace"),
        (["fit", "photos", "-w", "w", "--method", "gdc"], "Did you mean `gcd`?"),
        (["fit", "photos", "-w", "w", "--encoder", "tinny"], "tiny"),
        (["fit", "photos", "-w", "w", "--encoder", "tiny", "method.taks=3"], "Did you mean `method.tasks`?"),
        (["fit", "photos", "-w", "w", "held_out=2", "--encoder", "tiny"], "`held_out`"),
        (["fit", "march", "-w", "w"], "has no labels"),
        (["fit", "nowhere/at/all", "-w", "w"], "nowhere/at/all"),
        (["discover", "march", "-w", "w"], "w holds no workspace; `metagcd fit` makes one"),
        (["classes", "list", "-w", "photos"], "photos holds no workspace"),
        (["fit", "photos", "-w", "march", "--encoder", "tiny"], "march is not empty and holds no workspace"),
        (["classes"], "metagcd classes list"),
        (["rollback", "first", "-w", "w"], "first"),
        (["rollback", "1", "-w", "w"], "w holds no workspace"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line_with_exit_code_2(capsys, here, words, told):
    before = small.content(here)
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("metagcd: ")
    assert err.count("\n") == 1
    assert told in err
    assert small.content(here) == before


def test_who_has_the_workspace_is_told_after_waiting(capsys, fitted):
    import os

    from metagcd.runs import locked

    with locked(Path("w")):
        code, _, err = said(capsys, "classes", "rename", "ant", "Ameise", "-w", "w", "--wait", "0.3")
    assert code == 2
    assert f"in use by process {os.getpid()}. Waiting up to 0.3 seconds." in err
    assert err.splitlines()[-1].startswith(f"metagcd: w is in use by process {os.getpid()}. Waited 0.3 seconds")
