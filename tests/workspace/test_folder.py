import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from rich.console import Console

from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.workspace.database import create
from metagcd.workspace.folder import Folder, held

HOLD = """
import sys
from pathlib import Path
from metagcd.progress import Progress
from metagcd.workspace.folder import Folder, held
with held(Folder(Path(sys.argv[1])), wait=0.0, progress=Progress()):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path):
    create(Folder(tmp_path))
    return Folder(tmp_path)


def test_tensors_come_back_and_equal_ones_share_a_file(folder):
    tensors = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.tensor(3)}
    first, again = folder.keep(tensors), folder.keep({name: value.clone() for name, value in tensors.items()})
    assert first == again
    assert len(list(folder.files.iterdir())) == 1
    assert first.bytes == (folder.files / first.name).stat().st_size
    found = folder.read(first.name)
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert folder.keep({"a": torch.zeros(2)}).name != first.name


def test_a_file_can_be_read_by_whoever_can_read_the_catalogue(folder):
    folder.catalogue.chmod(0o640)
    assert (folder.files / folder.keep({"a": torch.zeros(1)}).name).stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("place", [10, -1])
def test_a_file_with_a_flipped_byte_is_told(folder, place):
    path = folder.files / folder.keep({"a": torch.zeros(100)}).name
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"\.safetensors"):
        folder.read(path.name)


def test_a_missing_file_is_told(folder):
    with pytest.raises(InputError, match="is missing; put it back"):
        folder.read("nothing.safetensors")


def test_a_full_disk_is_told_and_leaves_nothing(folder, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device\. Nothing was changed"):
        folder.keep({"a": torch.zeros(2)})
    assert list(folder.files.iterdir()) == []


def test_a_disk_that_cannot_be_written_to_is_told(folder, monkeypatch):
    opened = Path.open

    def refused(path, mode="r", *rest, **named):
        if mode.startswith("a"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(InputError, match="Read-only file system"), held(folder, wait=0.0, progress=Progress()):
        pass


def test_what_the_catalogue_does_not_mention_is_swept_away(folder):
    kept, orphan = folder.keep({"a": torch.zeros(2)}), folder.keep({"a": torch.ones(2)})
    (folder.files / ".begun").write_bytes(b"half a file")
    folder.sweep({kept.name})
    assert [path.name for path in folder.files.iterdir()] == [kept.name] != [orphan.name]


def test_a_second_process_waits_says_for_whom_and_gives_up(folder, capsys):
    told = Progress(Console(stderr=True, soft_wrap=True))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        started = time.monotonic()
        with (
            pytest.raises(InputError, match=f"in use by process {other.pid}. Waited 0.5 seconds; try again later"),
            held(folder, wait=0.5, progress=told),
        ):
            pass
        assert time.monotonic() - started >= 0.5
        assert f"in use by process {other.pid}. Waiting up to 0.5 seconds." in capsys.readouterr().err
        other.stdin.write("\n")
        other.stdin.flush()
        with held(folder, wait=30.0, progress=told):
            assert other.wait(timeout=30) == 0
