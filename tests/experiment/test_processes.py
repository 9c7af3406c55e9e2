"""A run in two processes: the weights of one, one writer, and nothing left behind when it is interrupted."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from experiment.small import HARDWARE, config, timeless

from metagcd.engine.checkpoint import load_state
from metagcd.engine.meta import InnerLoop
from metagcd.errors import InputError
from metagcd.experiment.run import Hardware, run
from metagcd.models.bank_config import BankConfig

TWO = replace(HARDWARE, devices=2)


def meta(order):
    """Meta-training with large steps; that the order matters to a step is seen in `engine/test_distributed.py`."""
    chosen = config("metagcd")
    inner = InnerLoop(updates=2, rate=0.5, batch=16, order=order)
    outer = replace(chosen.method.outer, rate=0.1, clip=1.0)
    return replace(chosen, method=replace(chosen.method, inner=inner, outer=outer))


CONFIGS = {
    "gcd": config("gcd"),
    "gcd on stored outputs": config("gcd", bank=BankConfig(use="on", views=3)),
    "first order": meta(1),
    "second order": meta(2),
}


def weights(directory):
    (file,) = directory.glob("seed-0/session-*.safetensors")
    return load_state(file).tensors


def files(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_two_processes_with_half_of_each_batch_end_with_the_weights_of_one(tmp_path, monkeypatch, name):
    for count, hardware in enumerate((HARDWARE, TWO), start=1):
        monkeypatch.setenv("METAGCD_CACHE", str(tmp_path / f"bank-{count}"))
        found = run(CONFIGS[name], directory=tmp_path / str(count), hardware=hardware)
        assert len(found.rows) == 3 * 3 * 4  # sessions, read-outs, partitions with assignments
    one, two = (weights(tmp_path / count) for count in "12")
    assert one.keys() == two.keys()
    for tensor, expected in one.items():
        torch.testing.assert_close(two[tensor], expected, rtol=0, atol=1e-5)
    assert files(tmp_path / "2") == files(tmp_path / "1")
    courses = [(tmp_path / count / "seed-0" / "metrics.jsonl").read_text().splitlines() for count in "12"]
    assert len(courses[0]) == len(courses[1]) > 2


@pytest.mark.parametrize(
    ("hardware", "told"),
    [
        ({"devices": 0}, "`devices` must be at least 1; got 0"),
        ({"device": "cuda", "devices": 1000}, "CUDA devices here; got `devices` 1000"),
    ],
)
def test_a_number_of_devices_that_cannot_be_is_refused_before_anything_is_written(tmp_path, hardware, told):
    with pytest.raises(InputError, match=told):
        run(config(), directory=tmp_path / "run", hardware=Hardware(**hardware))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_batch_smaller_than_the_number_of_processes_is_told_as_one_line(tmp_path):
    chosen = config("gcd")
    method = replace(chosen.method, offline=replace(chosen.method.offline, batch=1))
    with pytest.raises(InputError, match=r"^A batch of 1 images cannot be shared by 2 processes; use fewer of them\.$"):
        run(replace(chosen, method=method), directory=tmp_path / "run", hardware=TWO)


WORDS = [
    *("run", "metagcd-digits", "seeds=[0]", "encoder.width=16", "encoder.depth=1", "method.tasks=3"),
    *("method.warmup_epochs=4", "method.warmup_epochs_later=1", "method.head.width=256", "method.head.hidden=64"),
    *("--save-every", "0", "--quiet", "--device", "cpu"),
]


def commanded(directory, *words, starter=("-m", "metagcd")):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, *starter, *WORDS, "--directory", str(directory), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def members(session):
    """The processes of a session of the operating system that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [entry.name] if int(sid) == session and state != "Z" else []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_command_of_two_processes_that_is_ended_leaves_none_and_goes_on_to_the_same_bits(tmp_path, sent):
    whole = commanded(tmp_path / "whole", "--devices", "2")
    out, err = whole.communicate(timeout=300)
    assert (whole.returncode, err) == (0, "")
    assert out.count("Rows, states and configuration") == 1
    with commanded(tmp_path / "cut", "--devices", "2") as process:
        while not (tmp_path / "cut/seed-0/stages/meta.safetensors").exists():
            time.sleep(0.02)
            assert process.poll() is None
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    ends = time.monotonic() + 10
    while members(process.pid) and time.monotonic() < ends:
        time.sleep(0.05)
    assert members(process.pid) == []
    if sent == signal.SIGINT:
        config_file = tmp_path / "cut/config.toml"
        assert (process.returncode, out) == (130, "")
        assert err == f"metagcd: Interrupted. Continue with: metagcd run --config {config_file}\n"
    again = commanded(tmp_path / "cut", "--devices", "2")
    _, err = again.communicate(timeout=300)
    assert (again.returncode, err) == (0, "")
    one, two = (weights(tmp_path / name) for name in ("whole", "cut"))
    assert all(torch.equal(two[name], tensor) for name, tensor in one.items())


@pytest.mark.slow
def test_torchrun_starts_the_same_run(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1")
    torchrun = (*torchrun, "--master-port", port, "-m", "metagcd")
    expected = run(config("gcd"), directory=tmp_path / "own", hardware=TWO)
    script = tmp_path / "config.toml"
    script.write_text((tmp_path / "own" / "config.toml").read_text())
    words = ["run", "--config", str(script), "--directory", str(tmp_path / "torchrun"), "--device", "cpu", "--quiet"]
    loopback = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, *torchrun, *words],
        env={**os.environ, **loopback},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Rows, states and configuration") == 1
    assert timeless(run(config("gcd"), directory=tmp_path / "torchrun", hardware=HARDWARE)) == timeless(expected)
