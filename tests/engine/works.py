"""Pieces of work for several processes, as functions that a new process can find."""

import os
import time
from pathlib import Path

import torch

from metagcd.engine.distributed import launched, of_first
from metagcd.engine.processes import speaks
from metagcd.errors import InputError


def met(folder: Path) -> None:
    """Write who is there, the sum over all, and what the first said to all."""
    fabric = launched("cpu")
    (folder / f"pid-{fabric.global_rank}").write_text(str(os.getpid()))
    total = fabric.all_reduce(torch.tensor(fabric.global_rank + 1.0), reduce_op="sum")
    said = of_first(fabric, lambda: f"from {fabric.global_rank}")
    (folder / f"met-{fabric.global_rank}").write_text(f"{total.item()} {said} {speaks()}")


def refused(folder: Path, *, rank: int) -> None:
    """Refuse the input in one process, while the others wait for it."""
    fabric = launched("cpu")
    (folder / f"pid-{fabric.global_rank}").write_text(str(os.getpid()))
    if fabric.global_rank == rank:
        raise InputError("No `such` thing.")
    fabric.barrier()


def refused_by_first() -> None:
    """Let the first find something that cannot be used, on behalf of all."""
    fabric = launched("cpu")

    def read() -> str:
        raise InputError(f"Not of {fabric.global_rank}.")

    of_first(fabric, read)


def failed() -> None:
    """Divide by zero in one process."""
    fabric = launched("cpu")
    if fabric.global_rank == 1:
        1 / 0  # noqa: B018
    fabric.barrier()


def killed() -> None:
    """Lose one process without a word."""
    fabric = launched("cpu")
    if fabric.global_rank == 1:
        os.kill(os.getpid(), 9)
    fabric.barrier()


def endless(folder: Path) -> None:
    """Wait for one another for ever: one process in a collective operation, the other asleep."""
    fabric = launched("cpu")
    (folder / f"pid-{fabric.global_rank}").write_text(str(os.getpid()))
    if fabric.global_rank == 0:
        fabric.barrier()
    time.sleep(10**6)
