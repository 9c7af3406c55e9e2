"""Several processes of this machine that do one piece of work together; who asked for them starts and ends them."""

import os
import signal
import socket
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast

from metagcd.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

MARK = "TORCHELASTIC_RUN_ID"
"""The variable by which processes that `torchrun` or `together` started know what they are."""
REFUSED = 2
GRACE = 5.0
"""Seconds in which the others may end by themselves when one has failed: the first may be saving what it failed on."""
LONGEST = 20_000  # characters of a traceback: what nobody reads yet has to fit into a pipe


@dataclass(frozen=True)
class _Meeting:
    """Where processes find one another, and who started them."""

    count: int
    port: int
    starter: int


def among_others() -> bool:
    """Say whether this process was started as one of several; they may be one."""
    return MARK in os.environ


def started_here() -> int:
    """Return how many processes were started together on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if among_others() else 1


def speaks() -> bool:
    """Say whether this process is the one of its group that may write and print; one by itself may."""
    return not among_others() or os.environ.get("RANK", "0") == "0"


def together(work: Callable[[], object], count: int) -> None:
    """Do the work in so many new processes, which the Fabric of `launched` joins; return when all have ended.

    Guaranteed: no process outlives this call, whichever way it ends, nor this process, should it be killed (on Linux).
    What is an InputError in one of them is raised here as such.
    """
    from torch import multiprocessing

    told = multiprocessing.get_context("spawn").SimpleQueue()
    with _interruptible_later():
        started = multiprocessing.start_processes(
            _member, (work, _Meeting(count, _free_port(), os.getpid()), told), nprocs=count, join=False, daemon=True
        )
    processes = cast("Sequence[BaseProcess]", started.processes if started is not None else ())
    try:
        _wait_for(processes, told)
    finally:
        for process in processes:
            process.kill()
            process.join()


def _wait_for(processes: "Sequence[BaseProcess]", told: Any) -> None:
    """Return when all have done their work; raise what one of them was told, or why it is no longer there."""
    running = {process.sentinel: process for process in processes}
    while running:
        for sentinel in wait(list(running)):
            ended = running.pop(sentinel)  # type: ignore[call-overload]
            ended.join()
            if ended.exitcode:
                _raise_for(ended, list(running.values()), told)


def _raise_for(ended: "BaseProcess", others: "Sequence[BaseProcess]", told: Any) -> None:
    signalled = ended.exitcode is not None and ended.exitcode < 0
    for process in others:
        process.join(0 if signalled else GRACE)
    said: list[tuple[int, bool, str]] = []
    while not told.empty():
        said.append(told.get())
    for _, refused, text in sorted(said):
        if refused:
            raise InputError(text)
    if signalled or not said:
        raise RuntimeError(f"A process of several ended with exit code {ended.exitcode}; the same command goes on.")
    raise RuntimeError(f"One of several processes failed:\n{said[0][2]}")


def _member(rank: int, work: Callable[[], object], meeting: _Meeting, told: Any) -> None:
    """Be one of the processes; the work may fail in many ways, all of which are for the starter to tell."""
    from torch import distributed

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # even within a collective operation, where Python would not look
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if os.getppid() != meeting.starter:
        os._exit(1)
    os.environ.update(_surroundings(rank, meeting))
    try:
        work()
    except InputError as error:
        told.put((rank, True, str(error)))
        raise SystemExit(REFUSED) from None
    except Exception as error:
        told.put((rank, False, traceback.format_exc()[-LONGEST:]))
        raise SystemExit(1) from error
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _surroundings(rank: int, meeting: _Meeting) -> dict[str, str]:
    """Return the variables that `torchrun` would set."""
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": meeting.count, "LOCAL_WORLD_SIZE": meeting.count}
    found = {MARK: "metagcd", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(meeting.port)}
    found |= {name: str(value) for name, value in ranks.items()}
    for _, name in socket.if_nameindex():
        if name.startswith("lo"):  # the name of this machine need not lead anywhere
            found.setdefault("GLOO_SOCKET_IFNAME", os.environ.get("GLOO_SOCKET_IFNAME", name))
    return found


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _interruptible_later() -> Generator[None]:
    """Keep an interruption waiting, here and in processes that are started, so that none is left half-started."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
