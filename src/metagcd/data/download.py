"""Get the archives of data sets over the network, only when asked to."""

import errno
import http.client
import urllib.error
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from metagcd.config import reason
from metagcd.data import SOURCES
from metagcd.data.archives import Archive, ByHand, Origin, check, present, unpack
from metagcd.errors import InputError, unknown_name
from metagcd.progress import Progress

CHUNK = 1 << 20
"""Bytes read at once, and one step of the bar."""
PATIENCE = 60.0
"""Seconds without an answer after which a server counts as unreachable."""


def origins() -> dict[str, Origin]:
    """Return where every source comes from that has a home of its own: all whose config says `origin`."""
    configs = {name: SOURCES.config_class(name) for name in SOURCES.names()}
    return {name: config.origin() for name, config in configs.items() if hasattr(config, "origin")}


def get(name: str, root: Path, progress: Progress | None = None) -> Path:
    """Download, check and unpack the data set of a source, and return its folder; what is there stays as it is."""
    if name not in SOURCES.names() or not hasattr(SOURCES.config_class(name), "origin"):
        raise unknown_name("data set", name, origins())
    return obtain(SOURCES.config_class(name).origin(), root, progress)


def obtain(origin: Origin, root: Path, progress: Progress | None = None) -> Path:
    """Return the folder of a data set, downloading and unpacking what is missing."""
    folder = present(origin, root)
    if folder is not None:
        return folder
    if isinstance(origin, ByHand):
        raise origin.missing(root)
    fetch(origin, root, progress or Progress())
    return unpack(root / origin.file, origin.folder, progress)


def fetch(archive: Archive, root: Path, progress: Progress) -> Path:
    """Bring an archive into a folder; it appears under its name only when it is whole and its checksum right.

    What has arrived stays as NAME.part, and the next call continues there where the server can.
    """
    target = root / archive.file
    part = target.with_name(f"{target.name}.part")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {root}: {reason(error)}.") from error
    if target.exists():
        check(target, archive.md5)
        return target
    _transfer(archive.url, part, progress)
    try:
        check(part, archive.md5)
    except InputError as error:
        part.unlink()
        raise InputError(
            f"What {archive.url} sent does not have the checksum {archive.md5}; it was removed. "
            "Run the command again to start afresh."
        ) from error
    part.replace(target)
    return target


@dataclass(frozen=True, kw_only=True)
class _Answer:
    body: http.client.HTTPResponse
    start: int
    """The byte of the file at which the body starts."""
    total: int | None
    """Size of the whole file, when the server tells."""


def _transfer(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    answer = _ask(url, have)
    if answer is None:  # nothing lies beyond what is there
        return
    total = answer.total
    with closing(answer.body):
        steps = None if total is None else -(-total // CHUNK)
        with progress.bar(f"{part.stem} (MiB)", steps) as bar, _opened(part, answer.start) as file:
            bar.advance(answer.start // CHUNK)
            while chunk := _read(answer.body, url):
                _write(file, chunk, part)
                bar.advance()
    size = part.stat().st_size
    if total is not None and size < total:
        raise InputError(f"{url} broke off after {size} of {total} bytes; run the command again to continue.")


def _ask(url: str, start: int) -> _Answer | None:
    """Ask for the file from a byte on; None when there is no such byte."""
    headers = {"User-Agent": "metagcd", "Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        body = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            return None
        raise InputError(f"{url} answers {error.code} {error.reason}; try again later.") from error
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"Cannot reach {url}: {_cause(error)}; run the command again to continue.") from error
    start = start if body.status == http.HTTPStatus.PARTIAL_CONTENT else 0
    length = body.headers.get("Content-Length")
    return _Answer(body=body, start=start, total=None if length is None else start + int(length))


def _cause(error: Exception) -> str:
    inner = getattr(error, "reason", error)
    return reason(inner) if isinstance(inner, Exception) else str(inner)


def _opened(part: Path, start: int) -> FileIO:
    """Open the partial file behind the bytes to keep."""
    try:
        return part.open("ab" if start else "wb", buffering=0)
    except OSError as error:
        raise InputError(f"Cannot write {part}: {reason(error)}.") from error


def _read(body: http.client.HTTPResponse, url: str) -> bytes:
    try:
        return body.read(CHUNK)
    except http.client.IncompleteRead as error:
        return error.partial
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"{url} broke off: {reason(error)}; run the command again to continue.") from error


def _write(file: FileIO, chunk: bytes, part: Path) -> None:
    """Write all of a chunk at once; an unbuffered file may take it in pieces."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        room = "make room and " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise InputError(f"Cannot write {part}: {reason(error)}; {room}run the command again to continue.") from error
