import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from engine import works

from metagcd.engine.processes import among_others, speaks, together
from metagcd.errors import InputError


def alive(folder):
    """The processes, of those that wrote their number there, that still run."""
    found = [int(file.read_text()) for file in folder.glob("pid-*")]
    return [pid for pid in found if Path(f"/proc/{pid}").exists() and "Z" not in state(pid)]


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


@pytest.mark.slow
def test_processes_find_one_another_and_have_ended_when_the_call_returns(tmp_path):
    together(partial(works.met, tmp_path), 2)
    assert (tmp_path / "met-0").read_text() == "3.0 from 0 True"
    assert (tmp_path / "met-1").read_text() == "3.0 from 0 False"
    assert alive(tmp_path) == []
    assert not among_others()
    assert speaks()


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_what_one_process_refuses_is_refused_here_and_the_others_end(tmp_path, rank, capfd):
    with pytest.raises(InputError, match=r"^No `such` thing\.$"):
        together(partial(works.refused, tmp_path, rank=rank), 2)
    assert alive(tmp_path) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_the_first_refuses_for_all_is_raised_once():
    with pytest.raises(InputError, match=r"^Not of 0\.$"):
        together(works.refused_by_first, 2)


@pytest.mark.slow
def test_a_process_that_fails_is_shown_with_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        together(works.failed, 2)


@pytest.mark.slow
def test_a_process_that_was_killed_ends_all():
    with pytest.raises(RuntimeError, match="exit code -9"):
        together(works.killed, 2)


STARTER = """
import sys
sys.path[:0] = {path!r}
from functools import partial
from pathlib import Path
from engine import works
from metagcd.engine.processes import together
if __name__ == "__main__":
    together(partial(works.endless, Path({folder!r})), 2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_one_that_started_it(tmp_path, sent):
    script = tmp_path / "starter.py"
    script.write_text(STARTER.format(path=[str(Path(__file__).parents[1]), *sys.path], folder=str(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    with subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL, env=environment) as process:
        while len(alive(tmp_path)) < 2:
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(sent)
        process.wait(20)
    ends = time.monotonic() + 10
    while alive(tmp_path) and time.monotonic() < ends:
        time.sleep(0.05)
    assert alive(tmp_path) == []
