import errno
import json
import os
import subprocess
import sys
import textwrap

import pytest
from rows import row

from metagcd.errors import InputError
from metagcd.runs import LIBRARIES, commit, environment, existing_run, locked, open_run, read_text, write_atomic

CONFIG = "seeds = [0]\n"


def python(code, *arguments):
    """Run code in a process of its own; return what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_whole_with_its_folders_and_replaced(tmp_path):
    file = tmp_path / "a" / "b" / "file"
    write_atomic(file, "grün\n")
    assert file.read_bytes() == "grün\n".encode()
    write_atomic(file, b"\x00\xff")
    assert file.read_bytes() == b"\x00\xff"
    assert names(file.parent) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_half_written(tmp_path, monkeypatch, call):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "file"
    write_atomic(file, "old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        if call == "replace":  # pathlib moves files through a call of its own in some versions
            patch.setattr("pathlib.Path.replace", full)
        with pytest.raises(InputError) as error:
            write_atomic(file, "new")
    assert str(error.value) == f"Cannot write {file}: No space left on device. Nothing was changed."
    assert file.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_file_that_the_system_cuts_off_leaves_the_old_one(tmp_path):
    file = tmp_path / "file"
    write_atomic(file, "old")
    said = python(
        """
        import resource, signal, sys
        from pathlib import Path
        from metagcd.errors import InputError
        from metagcd.runs import write_atomic

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_atomic(Path(sys.argv[1]), bytes(100_000))
        except InputError as error:
            print(error)
        """,
        file,
    )
    assert said == f"Cannot write {file}: File too large. Nothing was changed."
    assert file.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_file_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"Cannot write .*Nothing was changed"):
        write_atomic(tmp_path / "file" / "below", "y")


HOLD = """
import sys, time
from pathlib import Path
from metagcd.runs import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_and_told_who_holds_the_directory(tmp_path):
    path = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError) as error, locked(path):
            pytest.fail("two processes held the directory")
        holder.communicate("\n", timeout=30)
    assert str(error.value) == f"{path} is in use by process {holder.pid}."
    with locked(path):
        assert (path / "lock").read_text() == str(os.getpid())


def test_the_lock_of_a_process_that_was_killed_holds_nobody_up(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        holder.wait(timeout=30)
    with locked(tmp_path):
        pass


def test_a_place_that_cannot_hold_a_run_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"Cannot use .*file"), locked(tmp_path / "file"):
        pytest.fail("a file was locked as a directory")


def test_a_new_run_holds_its_config_and_what_it_depends_on(tmp_path):
    run = open_run(tmp_path / "run", CONFIG, about={"device": "cpu"})
    assert run.name == "run"
    assert run.config_file.read_text() == CONFIG
    about = run.about()
    assert about["device"] == "cpu"
    assert about.keys() >= environment().keys() == {"python", "platform", "libraries", "commit"}
    assert json.loads((run.path / "run.json").read_text()) == about


def test_the_environment_names_every_library_by_version():
    libraries = environment()["libraries"]
    assert tuple(libraries) == LIBRARIES
    assert all(libraries[name] for name in ("torch", "numpy", "scipy"))
    assert commit() is None or len(commit().rstrip("+")) == 12


def test_the_same_configuration_continues_a_run_and_another_is_refused(tmp_path):
    path = tmp_path / "run"
    open_run(path, CONFIG, about={}).write_rows(0, 0, [row(new=60.0)])
    assert open_run(path, CONFIG, about={}).rows() == (row(new=60.0),)
    with pytest.raises(InputError, match="run holds a run with another configuration; choose another directory"):
        open_run(path, "seeds = [1]\n", about={})
    assert read_text(path / "config.toml") == CONFIG


def test_a_directory_of_other_things_is_refused_and_left_alone(tmp_path):
    (tmp_path / "holiday.jpg").write_text("x")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        open_run(tmp_path, CONFIG, about={})
    assert names(tmp_path) == ["holiday.jpg"]


@pytest.mark.parametrize(
    "left", [("lock",), ("lock", "run.json"), ("lock", ".run.json.k2x", "run.json", ".config.toml.a_b")]
)
def test_a_run_that_was_killed_while_it_was_made_can_be_made(tmp_path, left):
    for name in left:
        (tmp_path / name).write_text("{")
    run = open_run(tmp_path, CONFIG, about={"device": "cpu"})
    assert run.config_file.read_text() == CONFIG
    assert run.about()["device"] == "cpu"


def test_a_run_of_another_format_is_refused(tmp_path):
    run = open_run(tmp_path / "run", CONFIG, about={})
    write_atomic(run.path / "run.json", json.dumps({**run.about(), "format": 99}))
    for use in (lambda: existing_run(run.path), lambda: open_run(run.path, CONFIG, about={}), run.about):
        with pytest.raises(InputError, match="run format 99; this one reads format 1"):
            use()


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}"])
def test_a_damaged_record_is_named(tmp_path, content):
    run = open_run(tmp_path / "run", CONFIG, about={})
    (run.path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        existing_run(run.path)


def test_a_place_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match=r"holds no run \(no config.toml\)"):
        existing_run(tmp_path)


def test_rows_come_back_by_seed_and_session_in_numerical_order(tmp_path):
    run = open_run(tmp_path / "run", CONFIG, about={})
    for seed, session in ((10, 0), (2, 10), (2, 9), (2, 0)):
        run.write_rows(
            seed, session, [row(seed=seed, session=session), row(seed=seed, session=session, partition="previous")]
        )
    found = [(line.seed, line.session, line.partition) for line in existing_run(run.path).rows()]
    assert found == [
        (seed, session, partition)
        for seed, session in ((2, 0), (2, 9), (2, 10), (10, 0))
        for partition in ("initial", "previous")
    ]


def test_damaged_rows_are_named_by_file(tmp_path):
    run = open_run(tmp_path / "run", CONFIG, about={})
    run.write_rows(0, 0, [row()])
    run.rows_file(0, 0).write_text(run.rows_file(0, 0).read_text()[:50])
    with pytest.raises(InputError, match=r"session-0\.rows\.jsonl does not hold rows"):
        run.rows()


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match=r"Cannot read .*file: not text"):
        read_text(tmp_path / "file")
    with pytest.raises(InputError, match=r"Cannot read .*absent: No such file"):
        read_text(tmp_path / "absent")
