"""Locks between processes that use the same banks; the operating system frees those of a process that ends."""

import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LOCK, FILLING, CLAIMS = "lock", "filling", "claims"
"""Of a folder in use; of a journal that is changed; of the blocks that are being filled, a byte for each."""


@contextmanager
def locked(path: Path, *, waiting: Callable[[], None] | None = None) -> Generator[None]:
    """Hold the file alone; call `waiting` when another process holds it, then wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def in_use(folder: Path) -> Generator[None]:
    """Make the folder if need be, and keep others from removing it."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            file = (folder / LOCK).open("a")
        except FileNotFoundError:
            continue  # removed since the line before
        with file:
            fcntl.flock(file, fcntl.LOCK_SH)
            if _still_there(folder, file.fileno()):
                yield
                return


@contextmanager
def unused(folder: Path) -> Generator[bool]:
    """Hold the folder alone, and say whether that was possible at once."""
    try:
        file = (folder / LOCK).open("a")
    except FileNotFoundError:
        yield False
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@dataclass(frozen=True)
class Claims:
    """Numbers that one process at a time may hold, each by itself."""

    file: IO[bytes]

    def take(self, number: int, *, wait: bool = False) -> bool:
        """Hold a number, and say whether that was possible; with `wait` it will be, as soon as its holder lets go."""
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, number)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def leave(self, number: int) -> None:
        """Let go of a number."""
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, number)


@contextmanager
def claims(path: Path) -> Generator[Claims]:
    """Open the file of the numbers; whatever is held is let go of at the end, however it comes."""
    with path.open("ab") as file:
        yield Claims(file)


def _still_there(folder: Path, handle: int) -> bool:
    """Say whether the open lock is the one that the next process would open."""
    try:
        return os.path.samestat(os.fstat(handle), (folder / LOCK).stat())
    except FileNotFoundError:
        return False
