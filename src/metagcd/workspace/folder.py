"""The folder of a workspace: the catalogue, and tensors in files that are named by their content.

A file is written whole and brought to the disk before the catalogue mentions it, and removed only when the catalogue
does not mention it any more. Whatever the catalogue says at any moment is therefore there.
"""

import os
import secrets
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

import safetensors
from safetensors.torch import load_file, save_file
from torch import Tensor

from metagcd.config import reason
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.runs import InUseError, locked

PAUSE = 0.2
"""Seconds between two looks whether another process is done."""


@dataclass(frozen=True)
class Kept:
    """A file of the workspace."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Folder:
    """Where a workspace lies."""

    path: Path

    @property
    def catalogue(self) -> Path:
        """Return the database."""
        return self.path / "catalogue.sqlite"

    @property
    def files(self) -> Path:
        """Return the folder of weights and features."""
        return self.path / "files"

    @property
    def stages(self) -> Path:
        """Return where training under way keeps its place."""
        return self.path / "stages"

    @property
    def exists(self) -> bool:
        """Say whether a workspace is here."""
        return self.catalogue.is_file()

    def keep(self, tensors: Mapping[str, Tensor]) -> Kept:
        """Write tensors under a name made of their content; when this returns, they are on the disk."""
        scratch = self.files / f".{secrets.token_hex(8)}"
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        try:
            self.files.mkdir(exist_ok=True)
            save_file(plain, scratch)
            name = f"{_digest(scratch)}.safetensors"
            scratch.chmod(self.catalogue.stat().st_mode)  # who may read one may read both
            _sync(scratch)
            scratch.replace(self.files / name)
            _sync(self.files)
            return Kept(name, (self.files / name).stat().st_size)
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(f"Cannot write to {self.files}: {reason(error)}. Nothing was changed.") from error
        finally:
            with suppress(OSError):
                scratch.unlink()

    def read(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of a file, which must be what was written."""
        path = self.files / name
        if not path.is_file():
            raise InputError(f"{path} is missing; put it back from a copy of the workspace, or go back to a session.")
        try:
            whole = _digest(path) == path.stem
            tensors = load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(f"Cannot read {path}: {reason(error)}.") from error
        if not whole:
            raise InputError(f"{path} is damaged; put it back from a copy of the workspace, or go back to a session.")
        return tensors

    def sweep(self, wanted: Collection[str]) -> None:
        """Remove what the catalogue does not mention: left by a process that was killed, or not needed any more."""
        with suppress(OSError):
            for path in self.files.iterdir():
                if path.name not in wanted:
                    path.unlink()


@contextmanager
def held(folder: Folder, *, wait: float, progress: Progress) -> Generator[None]:
    """Hold the workspace for this process; wait so many seconds for another one, and say who it is."""
    until, told = time.monotonic() + wait, False
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(folder.path))
                break
            except InUseError as error:
                if time.monotonic() >= until:
                    raise InputError(f"{error} Waited {wait:g} seconds; try again later, or give --wait.") from error
                if not told:
                    progress.say(f"{error} Waiting up to {wait:g} seconds.")
                    told = True
            time.sleep(PAUSE)
        yield


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
