"""What every image holds, as a name of sixteen bytes: equal names mean equal images, wherever they lie."""

# A Path costs more than the call it stands for, a million times over.
# ruff: noqa: PTH100, PTH123

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b, file_digest

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.config import reason
from metagcd.data.files import BLOCK, THREADS, FileImages
from metagcd.data.rows import fingerprint, origin
from metagcd.data.shards import ShardImages
from metagcd.errors import InputError
from metagcd.types import Array, Images

BYTES = 16


def contents(images: Images) -> UInt8[Array, "n 16"]:
    """Return the name of every image's content: all bytes of its file, or of its pixels where it has no file."""
    parent, rows = origin(images)
    starts = range(0, len(rows), BLOCK)
    if isinstance(parent, ShardImages):
        named = map(_block(rows, lambda row: blake2b(parent.encoded(row), digest_size=BYTES).digest()), starts)
        return _joined(named)
    if not isinstance(parent, FileImages):
        return _joined(map(_pixels(parent, rows), starts))
    with ThreadPoolExecutor(THREADS) as pool:
        return _joined(pool.map(_block(rows, lambda row: _of_file(parent.paths.full(row))), starts))


@dataclass(frozen=True, eq=False)
class Places:
    """Where images lie: a path, a file and row, or a number; told one by one, never a million at once."""

    images: Images

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, row: int) -> str:
        if not 0 <= row < len(self.images):
            raise IndexError(row)
        parent, rows = origin(self.images)
        one = int(rows[row])
        if isinstance(parent, FileImages):
            return os.path.abspath(parent.paths.full(one))
        return parent.place(one) if isinstance(parent, ShardImages) else f"image {one}"


def together(names: UInt8[Array, "n 16"]) -> bytes:
    """Return a name of a set of contents: neither order nor repetition counts."""
    return bytes.fromhex(fingerprint(np.unique(_words(names), axis=0).tobytes()))


def first_of_each(names: UInt8[Array, "n 16"]) -> Int[Array, " n"]:
    """Return for every image the first one with the same content."""
    _, first, group = np.unique(_words(names), axis=0, return_index=True, return_inverse=True)
    return first[group.reshape(-1)].astype(np.int64)


def _words(names: UInt8[Array, "n 16"]) -> Array:
    return np.ascontiguousarray(names).view(">u8").astype(np.uint64)


def _joined(blocks: Iterator[bytes]) -> UInt8[Array, "n 16"]:
    return np.frombuffer(b"".join(blocks), dtype=np.uint8).reshape(-1, BYTES)


def _block(rows: Int[Array, " n"], name: Callable[[int], bytes]) -> Callable[[int], bytes]:
    return lambda start: b"".join(name(row) for row in rows[start : start + BLOCK].tolist())


def _pixels(images: Images, rows: Int[Array, " n"]) -> Callable[[int], bytes]:
    def block(start: int) -> bytes:
        pixels = np.ascontiguousarray(images.read(rows[start : start + BLOCK]))
        shape = str(pixels.shape[1:]).encode()
        return b"".join(blake2b(shape + one.tobytes(), digest_size=BYTES).digest() for one in pixels)

    return block


def _of_file(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return file_digest(stream, lambda: blake2b(digest_size=BYTES)).digest()
    except OSError as error:
        raise InputError(f"Cannot read {path!r}: {reason(error)}.") from error
