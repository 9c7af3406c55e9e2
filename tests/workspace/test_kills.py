"""Ended at any moment, a workspace is as it was before or after a command, never between."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from workspace import small

from metagcd.errors import InputError
from metagcd.workspace import journal
from metagcd.workspace.catalogue import reading

DISCOVER = """
import sys
from metagcd import Workspace
from metagcd.workspace.learning import Machine
workspace = Workspace.open(sys.argv[1], machine=Machine(device="cpu", threads=1))
print("begun", flush=True)
workspace.discover(sys.argv[2])
workspace.rename("novel-0001", "wasp")
workspace.merge("ant", "bee")
"""


class Trouble:
    """Let the number-th thing done to the disk fail, before it is done or after."""

    def __init__(self, number, *, after):
        self.number, self.after, self.count = number, after, 0

    def around(self, work):
        def done(*arguments, **named):
            due = self.count == self.number
            self.count += 1
            if due and not self.after:
                raise OSError(28, "No space left on device")
            found = work(*arguments, **named)
            if due:
                raise OSError(28, "No space left on device")
            return found

        return done

    def install(self, monkeypatch):
        trouble = self

        class Connection(sqlite3.Connection):
            def execute(self, *arguments):
                return trouble.around(super().execute)(*arguments)

            def executemany(self, *arguments):
                return trouble.around(super().executemany)(*arguments)

        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Connection))
        for name in ("fsync", "replace", "unlink"):
            monkeypatch.setattr(os, name, self.around(getattr(os, name)))
        monkeypatch.setattr("metagcd.workspace.folder.save_file", self.around(_save_file()))


def _save_file():
    from safetensors.torch import save_file

    return save_file


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("kills")
    small.lived(path)
    small.batch(path / "next", {"ant": 5, "wasp": 4, "moth": 9}, seed=3)
    return path


def copied(template, path):
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(template / "w", path)
    return small.Workspace.open(path, machine=small.machine())


def files_are_there(workspace):
    """Whether every file that the catalogue mentions is there, whole."""
    with reading(workspace.folder) as catalogue:
        for name in journal.files(catalogue.connection):
            workspace.folder.read(name)
        assert catalogue.connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return True


def tried(template, path, change, *, number, after):
    """Carry out a change in which one thing fails; return how far it came and the state then, and afterwards."""
    workspace = copied(template, path)
    with pytest.MonkeyPatch.context() as patch:
        trouble = Trouble(number, after=after)
        trouble.install(patch)
        with contextlib.suppress(InputError, OSError):
            change(workspace)
    assert files_are_there(workspace)
    reached, state = trouble.count > number, small.state(workspace)[:2]
    return reached, state


CHANGES = {
    "rename": lambda w: w.rename("novel-0001", "wasp"),
    "merge": lambda w: w.merge("ant", "novel-0001"),
    "split": lambda w: w.split("novel-0001"),
    "undo": lambda w: w.undo(),
    "rollback": lambda w: w.rollback(0),
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["rename", "rollback"])
def test_a_decision_that_fails_at_any_write_is_taken_or_not(template, tmp_path, name, after):
    every_write(template, tmp_path, CHANGES[name], after=after)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["merge", "split"])
def test_a_longer_decision_that_fails_at_any_write_is_taken_or_not(template, tmp_path, name, after):
    every_write(template, tmp_path, CHANGES[name], after=after)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_a_session_that_fails_at_any_write_has_been_or_not(template, tmp_path, after):
    every_write(template, tmp_path, lambda w: w.discover(template / "next"), after=after)


def test_a_session_that_fails_at_its_commit_has_been_or_not(template, tmp_path):
    states = every_write(template, tmp_path, lambda w: w.discover(template / "next"), after=True, step=25)
    assert states


def every_write(template, tmp_path, change, *, after, step=1):
    workspace = copied(template, tmp_path / "w")
    before = small.state(workspace)[:2]
    change(workspace)
    finished = small.state(workspace)[:2]
    assert finished != before
    met, number, reached = set(), 0, True
    while reached:
        reached, state = tried(template, tmp_path / "w", change, number=number, after=after)
        assert state in (before, finished), number
        met.add(state == finished)
        number += step
    assert number > step
    assert step > 1 or met == {True, False}
    return met


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_a_state_before_or_after(template, tmp_path):
    """Forty processes, each killed after another time; the times reach over all that they do."""
    workspace = copied(template, tmp_path / "whole")
    states = [small.state(workspace)[:2]]
    for change in (lambda: workspace.discover(template / "next"), lambda: workspace.rename("novel-0001", "wasp")):
        change()
        states.append(small.state(workspace)[:2])
    workspace.merge("ant", "bee")
    states.append(small.state(workspace)[:2])
    rng, met, span = random.Random(0), set(), _seconds(template, tmp_path / "timed")
    for number in range(40):
        path = tmp_path / "w"
        copied(template, path)
        _killed(path, template / "next", after=span * 1.1 * rng.random())
        survivor = small.Workspace.open(path, machine=small.machine())
        state = small.state(survivor)[:2]
        assert state in states, number
        assert files_are_there(survivor)
        met.add(states.index(state))
        survivor.discover(template / "next")  # and it can be gone on with
    assert len(met) >= 2


def _process(path: Path, images: Path) -> subprocess.Popen:
    words = [sys.executable, "-c", DISCOVER, str(path), str(images)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _seconds(template, path):
    copied(template, path)
    with _process(path, template / "next") as process:
        assert process.stdout.readline() == "begun\n"
        started = time.monotonic()
        assert process.wait(timeout=120) == 0
    return time.monotonic() - started


def _killed(path, images, *, after):
    with _process(path, images) as process:
        process.stdout.readline()
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
