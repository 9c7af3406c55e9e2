"""Images that lie in files, decoded when they are read."""

# A Path costs more than the call it stands for, a million times over.
# ruff: noqa: PTH118, PTH123

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.config import reason
from metagcd.data.decode import Decoding, decode, decode_rows
from metagcd.data.pictures import UnreadableError
from metagcd.data.rows import fingerprint
from metagcd.errors import InputError
from metagcd.types import Array

SAMPLE = 16_384
"""Bytes read at the head, middle and tail of a file for its fingerprint; up to three times that is read whole."""

BLOCK = 256
"""Files that a thread takes at a time when all are visited."""

THREADS = min(os.cpu_count() or 1, 16)


@dataclass(frozen=True, eq=False)
class Paths:
    """Very many paths below one folder, in one buffer: a million take their letters and eight megabytes."""

    root: str
    """The folder; absolute paths in the buffer stay what they are."""
    letters: bytes
    """The relative paths as the file system has them, without anything between."""
    ends: Int[Array, " n"]
    """Where each path ends in `letters`."""

    @classmethod
    def of(cls, root: str, relative: Iterable[str]) -> "Paths":
        """Collect paths below `root`."""
        buffer = bytearray()
        ends: list[int] = []
        for path in relative:
            buffer += os.fsencode(path)
            ends.append(len(buffer))
        return cls(root, bytes(buffer), np.asarray(ends, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        bounds = pairwise([0, *self.ends.tolist()])
        return (os.fsdecode(self.letters[start:end]) for start, end in bounds)

    def relative(self, row: int) -> str:
        """Return a path as it was given."""
        start = int(self.ends[row - 1]) if row else 0
        return os.fsdecode(self.letters[start : int(self.ends[row])])

    def full(self, row: int) -> str:
        """Return a path that can be opened."""
        return os.path.join(self.root, self.relative(row))

    def select(self, rows: Int[Array, " m"]) -> "Paths":
        """Return some of the paths, in this order."""
        return (
            self
            if np.array_equal(rows, np.arange(len(self)))
            else Paths.of(self.root, map(self.relative, rows.tolist()))
        )


@dataclass(frozen=True, eq=False)
class FileImages:
    """Pictures in files, brought to one size as they are read, by several threads."""

    paths: Paths
    how: Decoding = field(default_factory=Decoding)

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, rows: Int[Array, " b"]) -> UInt8[Array, "b size size 3"]:
        """Return the images at these positions."""
        return decode_rows(self._one, rows, size=self.how.size)

    @property
    def fingerprint(self) -> str:
        """Return a digest of the relative paths, what the files hold, and how they are decoded.

        Files up to 48 KiB are read whole; of larger ones the size and 16 KiB at the head, the middle and the tail.
        Compressed pictures that differ do so there or in size, a million files take minutes, and a folder that was
        moved, copied or downloaded again keeps its digest, which times of modification would not.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        starts = range(0, len(self), BLOCK)
        with ThreadPoolExecutor(THREADS) as pool:
            digests = pool.map(self._digests, starts)
            return fingerprint(
                repr(self.how).encode(), self.paths.ends.tobytes(), self.paths.letters, b"".join(digests)
            )

    def _one(self, row: int) -> UInt8[Array, "size size 3"]:
        path = self.paths.full(row)
        try:
            return decode(path, self.how)
        except UnreadableError as error:
            hint = "Mend or remove it; `check = full` finds such files beforehand"
            raise InputError(f"Cannot read {path!r}: {error.reason}. {hint}.") from error

    def _digests(self, start: int) -> bytes:
        rows = range(start, min(start + BLOCK, len(self)))
        return b"".join(content_digest(self.paths.full(row)) for row in rows)


def content_digest(path: str) -> bytes:
    """Return sixteen bytes that name what a file holds, from samples if it is larger than three of them."""
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            total = blake2b(size.to_bytes(8, "little"), digest_size=16)
            if size <= 3 * SAMPLE:
                total.update(stream.read())
                return total.digest()
            for place in (0, (size - SAMPLE) // 2, size - SAMPLE):
                stream.seek(place)
                total.update(stream.read(SAMPLE))
            return total.digest()
    except OSError as error:
        raise InputError(f"Cannot read {path!r}: {reason(error)}.") from error
