"""Find picture files in any nesting of folders, and check that they can be used."""

# A Path costs more than the call it stands for, a million times over.
# ruff: noqa: PTH110, PTH111, PTH112, PTH116, PTH118, PTH120, PTH123

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from jaxtyping import Int

from metagcd.config import reason
from metagcd.data.decode import Decoding, decode
from metagcd.data.files import BLOCK, THREADS, Paths
from metagcd.data.pictures import UnreadableError, opened
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import Array, Skipped

CLUTTER = frozenset(("Thumbs.db", "desktop.ini", "__MACOSX"))
"""What operating systems leave in folders, besides hidden files."""

ENDINGS = {b"\xff\xd8": b"\xff\xd9", b"\x89P": b"IEND"}
"""How JPEG and PNG files begin and end."""

USUAL = frozenset(("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I;16B"))
"""Modes whose values always have a known meaning."""


@dataclass(frozen=True, kw_only=True)
class Check(Decoding):
    """What pictures are decoded to, and how thoroughly they are looked at before."""

    check: Literal["header", "full", "none"] = "header"
    """`header`: the header, and all of a file that looks cut off or is of a rare kind; `full`: all; `none`: nothing."""
    strict: bool = False
    """A file that cannot be used is an error; otherwise it is skipped and listed."""

    @property
    def decoding(self) -> Decoding:
        """Return what decides the pixels, without the rest of a source's settings."""
        return Decoding(**{item.name: getattr(self, item.name) for item in fields(Decoding)})


@dataclass(frozen=True, kw_only=True, eq=False)
class Checked:
    """The paths that can be used, and those that cannot."""

    paths: Paths
    rows: Int[Array, " n"]
    """Which of the paths that were given these are."""
    sizes: Int[Array, "n 2"]
    """Width and height as stored; zeros where nothing was checked."""
    skipped: tuple[Skipped, ...] = ()


def scan(root: str | os.PathLike[str], check: Check, progress: Progress | None = None) -> Checked:
    """Find the pictures below a folder, sorted by the bytes of their names, and check them."""
    folder = existing_folder(root)
    problems: list[Skipped] = []
    checked = verify(Paths.of(folder, walk(folder, problems)), check, progress)
    if check.strict and problems:
        raise _strict(problems[0])
    skipped = (*problems, *checked.skipped)
    return Checked(paths=checked.paths, rows=checked.rows, sizes=checked.sizes, skipped=skipped)


def verify(paths: Paths, check: Check, progress: Progress | None = None) -> Checked:
    """Check paths by several threads; the order is kept."""
    if check.check == "none":
        return Checked(paths=paths, rows=np.arange(len(paths)), sizes=np.zeros((len(paths), 2), np.int64))
    sizes = np.zeros((len(paths), 2), dtype=np.int64)
    skipped: list[Skipped] = []
    with (progress or Progress()).bar("check pictures", len(paths)) as bar:
        for start, looks in _looks(paths, check):
            for row, look in enumerate(looks, start):
                if isinstance(look, str):
                    skipped.append(Skipped(path=paths.full(row), reason=look))
                else:
                    sizes[row] = look
            bar.advance(len(looks))
    if check.strict and skipped:
        raise _strict(skipped[0])
    rows = np.flatnonzero(sizes[:, 0])
    return Checked(paths=paths.select(rows), rows=rows, sizes=sizes[rows], skipped=tuple(skipped))


def walk(root: str, problems: list[Skipped]) -> Iterator[str]:
    """Yield the relative paths of all files that are not hidden; folders that cannot be opened become problems.

    Links are followed; each folder is visited once and none above the root, so that links back do not loop.
    """
    above = os.path.realpath(root)
    seen: set[tuple[int, int]] = set()
    while (parent := os.path.dirname(above)) != above:
        above = parent
        seen.add(_identity(above))
    stack = [("", True)]
    while stack:
        relative, is_folder = stack.pop()
        if not is_folder:
            yield relative
            continue
        try:
            stack.extend(reversed(_entries(root, relative, seen)))
        except OSError as error:
            problems.append(Skipped(path=os.path.join(root, relative), reason=f"a folder: {reason(error)}"))


def existing_folder(root: str | os.PathLike[str]) -> str:
    """Return the folder as text, or say why it is none."""
    folder = os.path.expanduser(os.fspath(root))
    if not os.path.exists(folder):
        raise InputError(f"There is no folder {folder!r}.")
    if not os.path.isdir(folder):
        raise InputError(f"{folder!r} is a file; expected a folder of images.")
    return folder


def visible(name: str) -> bool:
    """Return whether a name is neither hidden nor an operating system's clutter."""
    return not name.startswith(".") and name not in CLUTTER


def _entries(root: str, relative: str, seen: set[tuple[int, int]]) -> list[tuple[str, bool]]:
    folder = os.path.join(root, relative)
    identity = _identity(folder)
    if identity in seen:
        return []
    seen.add(identity)
    with os.scandir(folder) as entries:
        found = [(os.path.join(relative, entry.name), _is_folder(entry)) for entry in entries if visible(entry.name)]
    return sorted(found, key=lambda entry: os.fsencode(entry[0]))


def _identity(folder: str) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # A link that leads back to itself; reading it will tell.
        return False


def _looks(paths: Paths, check: Check) -> Iterator[tuple[int, list[tuple[int, int] | str]]]:
    """Yield the first row of every block of paths, and what was seen there."""

    def block(start: int) -> list[tuple[int, int] | str]:
        return [_look(paths.full(row), check) for row in range(start, min(start + BLOCK, len(paths)))]

    starts = range(0, len(paths), BLOCK)
    with ThreadPoolExecutor(THREADS) as pool:
        yield from zip(starts, pool.map(block, starts), strict=True)


def _look(path: str, check: Check) -> tuple[int, int] | str:
    """Return the size of a picture, or why it cannot be used."""
    try:
        with opened(path, pixel_limit=check.pixel_limit) as image:
            size, usual = image.size, image.mode in USUAL
        if check.check == "full" or not usual or _cut_off(path):
            decode(path, check)
    except UnreadableError as error:
        return error.reason
    except OSError as error:
        return reason(error)
    return size


def _cut_off(path: str) -> bool:
    with open(path, "rb") as stream:
        ending = ENDINGS.get(stream.read(2))
        stream.seek(-min(64, os.fstat(stream.fileno()).st_size), os.SEEK_END)
        return ending is not None and ending not in stream.read()


def _strict(skipped: Skipped) -> InputError:
    return InputError(f"Cannot use {skipped.path!r}: {skipped.reason}. Mend or remove it, or switch `strict` off.")
