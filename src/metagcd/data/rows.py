"""Some rows of a larger set of images, without copying them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.types import Array, Images


@dataclass(frozen=True)
class Rows:
    """The images of `parent` at `rows`, in that order."""

    parent: Images
    rows: Int[Array, " n"]

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, rows: Int[Array, " b"]) -> UInt8[Array, "b h w 3"]:
        """Return the images at these positions."""
        return self.parent.read(self.rows[rows])

    @property
    def fingerprint(self) -> str:
        """Return a digest of the parent's and of the rows."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self.parent.fingerprint.encode(), self.rows.astype("<i8").tobytes())


@dataclass(frozen=True)
class ArrayImages:
    """Images that lie in memory."""

    pixels: UInt8[Array, "n h w 3"]

    def __len__(self) -> int:
        return len(self.pixels)

    def read(self, rows: Int[Array, " b"]) -> UInt8[Array, "b h w 3"]:
        """Return the images at these positions."""
        return self.pixels[rows]

    @property
    def fingerprint(self) -> str:
        """Return a digest of the shape and every pixel."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(str(self.pixels.shape).encode(), np.ascontiguousarray(self.pixels).tobytes())


def fingerprint(*parts: bytes) -> str:
    """Return sixteen hexadecimal digits that name these bytes."""
    total = blake2b(digest_size=8)
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()


def select(images: Images, rows: Sequence[int] | Int[Array, " n"]) -> Rows:
    """Return some rows of the images; rows of rows lead back to the first parent."""
    chosen = np.asarray(rows, dtype=np.int64)
    if isinstance(images, Rows):
        return Rows(images.parent, images.rows[chosen])
    return Rows(images, chosen)


def origin(images: Images) -> tuple[Images, Int[Array, " n"]]:
    """Return the set that the images were taken from and their rows in it."""
    if isinstance(images, Rows):
        return images.parent, images.rows
    return images, np.arange(len(images))
