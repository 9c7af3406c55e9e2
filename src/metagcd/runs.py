"""The run directory: what is written there is whole or absent, and one process at a time writes it."""

import fcntl
import json
import os
import platform
import re
import secrets
import subprocess
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from metagcd import results
from metagcd.errors import InputError
from metagcd.results import Row

FORMAT = 1
# What a process that was killed while it made a run directory may have left there.
_BEGUN = re.compile(r"lock|run\.json|\.(run\.json|config\.toml)\..*")
LIBRARIES = ("metagcd", "torch", "torchvision", "timm", "lightning-fabric", "numpy", "scipy", "scikit-learn", "pillow")


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write the file whole or leave what was there; say so in one line when the disk refuses."""
    data = content.encode() if isinstance(content, str) else content
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}. Nothing was changed.") from error
    finally:
        with suppress(OSError):
            scratch.unlink()


@dataclass(frozen=True)
class RunDirectory:
    """The place of one run: its configuration, splits, states, rows and report."""

    path: Path

    @property
    def name(self) -> str:
        """Return the name that rows carry."""
        return self.path.name

    @property
    def config_file(self) -> Path:
        """Return the effective configuration; `metagcd run --config` repeats the run from it."""
        return self.path / "config.toml"

    def seed(self, seed: int) -> Path:
        """Return the folder of one seed: split, states, rows."""
        return self.path / f"seed-{seed}"

    def rows_file(self, seed: int, session: int) -> Path:
        """Return where the rows of one session stand."""
        return self.seed(seed) / f"session-{session}.rows.jsonl"

    def write_rows(self, seed: int, session: int, rows: Iterable[Row]) -> None:
        """Keep the rows of one session; their presence marks the session as done."""
        write_atomic(self.rows_file(seed, session), results.to_json(rows))

    def rows(self) -> tuple[Row, ...]:
        """Return all rows so far, by seed and session."""
        files = sorted(self.path.glob("seed-*/session-*.rows.jsonl"), key=_place)
        return tuple(row for file in files for row in results.from_json(read_text(file), origin=str(file)))

    def about(self) -> dict[str, Any]:
        """Return what was recorded about the run: versions, commit, device."""
        return _about(self.path)


def open_run(path: Path, config: str, *, about: Mapping[str, Any], as_now: Callable[[str], str] = str) -> RunDirectory:
    """Create the run directory, or continue the one that is there when it has the same configuration.

    `as_now` writes a configuration that an earlier version kept as this version would.
    """
    run = RunDirectory(path)
    if run.config_file.exists():
        _about(path)
        if (kept := read_text(run.config_file)) != config and as_now(kept) != config:
            raise InputError(f"{path} holds a run with another configuration; choose another directory.")
        return run
    if path.exists() and not all(_BEGUN.fullmatch(entry.name) for entry in path.iterdir()):
        raise InputError(f"{path} is not empty and holds no run; choose another directory.")
    write_atomic(path / "run.json", json.dumps({"format": FORMAT, **environment(), **about}, indent=2) + "\n")
    write_atomic(run.config_file, config)
    return run


def existing_run(path: Path) -> RunDirectory:
    """Return the run at this path, or say that there is none."""
    if not (path / "config.toml").is_file():
        raise InputError(f"{path} holds no run (no config.toml).")
    _about(path)
    return RunDirectory(path)


class InUseError(InputError):
    """Say which process holds a directory."""


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the directory for this process; say who holds it when another one does."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = (path / "lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot use {path}: {error.strerror}.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InUseError(f"{path} is in use by process {holder}.") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def environment() -> dict[str, Any]:
    """Return the versions a result depends on."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "commit": commit(),
    }


def commit() -> str | None:
    """Return the commit of the source tree this package runs from, with `+` when files differ; None when installed."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    with suppress(OSError, subprocess.CalledProcessError):
        head = _git(folder, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    return None


def read_text(path: Path) -> str:
    """Return the text of a file, or say why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path}: {getattr(error, 'strerror', None) or 'not text'}.") from error


def _about(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    try:
        about = json.loads(read_text(file))
        found = about["format"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{file} is damaged; the run cannot be continued.") from error
    if found != FORMAT:
        raise InputError(f"{path} was written by a version with run format {found}; this one reads format {FORMAT}.")
    return about


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, timeout=10
    ).stdout.strip()


def _place(file: Path) -> tuple[int, int]:
    return int(file.parent.name.removeprefix("seed-")), int(file.name.split(".")[0].removeprefix("session-"))
