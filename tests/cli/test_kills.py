"""A command that is killed again and again at moments that nobody chose ends with the bits of one that was not."""

import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from metagcd.engine.checkpoint import load_state

WORDS = [
    *("run", "metagcd-digits", "seeds=[0]", "encoder.width=16", "encoder.depth=1", "method.tasks=6"),
    *("method.warmup_epochs=8", "method.warmup_epochs_later=1", "method.head.width=256", "method.head.hidden=64"),
    *("--save-every", "0", "--quiet", "--device", "cpu", "--keep", "2"),
]
KILLS = 6


def started(directory: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "metagcd", *WORDS, "--directory", str(directory)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def moment(directory: Path) -> float:
    """The time of the newest state of a run, when there is one."""
    newest = 0.0
    for file in directory.rglob("*.safetensors"):
        with suppress(FileNotFoundError):  # replaced meanwhile
            newest = max(newest, file.stat().st_mtime)
    return newest


def final(directory: Path) -> dict[str, torch.Tensor]:
    (file,) = directory.glob("seed-0/session-*.safetensors")
    return load_state(file).tensors


@pytest.mark.slow
def test_meta_training_that_is_killed_at_random_moments_ends_with_the_same_bits(tmp_path):
    whole = started(tmp_path / "whole")
    assert (whole.communicate(timeout=600)[1], whole.returncode) == ("", 0)
    chance, kills = random.Random(0), 0
    for _ in range(KILLS):
        before = moment(tmp_path / "cut")
        process = started(tmp_path / "cut")
        while process.poll() is None and moment(tmp_path / "cut") == before:  # until it has got further than the last
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        kills += process.returncode == -9
    assert kills >= 3
    rest = started(tmp_path / "cut")
    assert (rest.communicate(timeout=600)[1], rest.returncode) == ("", 0)
    expected, found = final(tmp_path / "whole"), final(tmp_path / "cut")
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
