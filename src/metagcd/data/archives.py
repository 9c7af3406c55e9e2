"""The official archives of data sets: what they are called, whether they are whole, and how they are unpacked."""

import hashlib
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from metagcd.config import reason
from metagcd.errors import InputError
from metagcd.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A file that anybody may download, and the folder that it holds."""

    source: str
    """Name of the source that reads it."""
    url: str
    file: str
    md5: str
    """Checksum that the publisher states; it guards against broken transfers, not against malice."""
    folder: str
    """The one folder of the archive that is unpacked."""

    def missing(self, root: Path) -> InputError:
        """Say where the data set was looked for and how to get it."""
        return InputError(
            f"`{self.source}` is not in {root}: there is no folder `{self.folder}` and no file `{self.file}`. "
            f"To get it, run `{self.how()}` (--data-root names another folder)."
        )

    def how(self) -> str:
        """Return the command that gets it."""
        return f"metagcd data get {self.source}"


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """A data set that only its reader can get, because it asks for a login or was withdrawn."""

    source: str
    """Name of the source that reads it."""
    folder: str
    instructions: str
    """One sentence: where to get it, and what to put where."""

    def missing(self, root: Path) -> InputError:
        """Say where the data set was looked for and how to get it."""
        return InputError(f"`{self.source}` is not in {root}: there is no folder `{self.folder}`. {self.instructions}")

    def how(self) -> str:
        """Return what its reader has to do."""
        return self.instructions


Origin = Archive | ByHand


def present(origin: Origin, root: Path) -> Path | None:
    """Return the folder of a data set, which may be the root itself, or nothing."""
    beside = [root] if root.name == origin.folder else []
    return next((folder for folder in (root / origin.folder, *beside) if _is(Path.is_dir, folder)), None)


def found(origin: Origin, root: Path) -> Path | None:
    """Return the folder of a data set, else its archive that is unpacked on first use, or nothing."""
    folder = present(origin, root)
    if folder is None and isinstance(origin, Archive) and _is(Path.is_file, root / origin.file):
        return root / origin.file
    return folder


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError as error:  # such as a folder that may not be entered
        raise InputError(f"Cannot look for {path}: {reason(error)}.") from error


def place(origin: Origin, root: Path) -> Path:
    """Return the folder of a data set, unpacking its archive on first use."""
    there = found(origin, root)
    if there is None:
        raise origin.missing(root)
    if there.is_dir() or isinstance(origin, ByHand):
        return there
    check(there, origin.md5)
    return unpack(there, origin.folder)


def check(path: Path, md5: str) -> None:
    """Refuse a file whose checksum is another."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    if found != md5:
        raise InputError(f"{path} has the checksum {found} in place of {md5}; delete it and get it again.")


def unpack(archive: Path, folder: str, progress: Progress | None = None) -> Path:
    """Unpack one folder of an archive beside it; the folder appears only when it is whole."""
    target = archive.parent / folder
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder}-", dir=archive.parent) as scratch:
            inside = _folder_only(_files(archive), folder, archive)
            for name, stream in (progress or Progress()).track(inside, f"unpacking {archive.name}"):
                path = Path(scratch, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    shutil.copyfileobj(stream, file)
            if not Path(scratch, folder).is_dir():
                raise InputError(f"{archive} holds no folder `{folder}`; get the official file.")
            if not target.is_dir():  # else somebody else was quicker
                Path(scratch, folder).replace(target)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"Cannot unpack {archive}: {reason(error)}.") from error
    return target


def _folder_only(
    files: Iterator[tuple[str, IO[bytes]]], folder: str, archive: Path
) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    for name, stream in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise InputError(f"{archive} holds the path `{name}`, which leads out of its folder; nothing was unpacked.")
        if path.parts[:1] == (folder,):
            yield path, stream


def _files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the regular files of an archive; links and devices are passed over."""
    if zipfile.is_zipfile(archive):
        yield from _zipped(archive)
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            stream = tar.extractfile(member) if member.isreg() else None
            if stream is not None:
                with closing(stream):
                    yield member.name, stream


def _zipped(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            if not member.is_dir():
                with packed.open(member) as stream:
                    yield member.filename, stream
