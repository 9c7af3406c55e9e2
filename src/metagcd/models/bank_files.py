"""The files of one bank: what it is, its rows, and a journal of checksums.

- `meta.json`: key and layout in clear, with a checksum of both.
- `rows.bin`: image after image, view after view, little-endian; its whole length is reserved before the first row.
- `journal`: a line per finished block of images, its number and checksum, written after the block.
- `complete`: checksum of meta and journal, put there by renaming when every block is finished.
- `filling`, `claims`: locks of those who change the journal and of those who fill a block.
"""

import json
import math
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from metagcd.models.bank_key import BankKey, digest_of
from metagcd.models.bank_locks import FILLING, locked
from metagcd.runs import write_atomic
from metagcd.types import Array

FORMAT = 1
ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
BLOCK_BYTES, BLOCK_IMAGES = 64 * 2**20, 1024
META, ROWS, JOURNAL, COMPLETE = "meta.json", "rows.bin", "journal", "complete"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How rows lie in the file."""

    images: int
    views: int
    shape: tuple[int, ...]
    """Of the trunk's output for one view."""
    dtype: str
    block: int
    """Images per block, the unit that is filled, checked and mended."""

    @staticmethod
    def of(images: int, views: int, shape: tuple[int, ...], dtype: str) -> "Layout":
        """Return the layout with blocks of a suitable size."""
        per_image = max(views * math.prod(shape) * ITEM_BYTES[dtype], 1)
        block = min(max(BLOCK_BYTES // per_image, 1), BLOCK_IMAGES)
        return Layout(images=images, views=views, shape=shape, dtype=dtype, block=block)

    @property
    def view_bytes(self) -> int:
        """Return the bytes of one view of one image."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]

    @property
    def bytes(self) -> int:
        """Return the bytes of all rows."""
        return self.images * self.views * self.view_bytes

    @property
    def blocks(self) -> int:
        """Return the number of blocks."""
        return -(-self.images // self.block)

    def rows(self, block: int) -> range:
        """Return the images of a block."""
        return range(block * self.block, min((block + 1) * self.block, self.images))


@dataclass(frozen=True)
class BankFiles:
    """The folder of one bank."""

    folder: Path

    def layout(self, key: BankKey | None = None) -> Layout | None:
        """Return the layout; None where the files are not there, not of this key, or do not fit one another."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            meta = json.loads((self.folder / META).read_text(encoding="utf-8"))
            found: Any = meta["layout"] | {"shape": tuple(meta["layout"]["shape"])}
            layout = Layout(**found)
            whole = meta == _meta(meta["key"] if key is None else key.fields, layout)
            whole = whole and (self.folder / ROWS).stat().st_size == layout.bytes
            if whole and self._complete_or_not_yet(layout):
                return layout
        return None

    def create(self, key: BankKey, layout: Layout) -> None:
        """Reserve the disk for a bank without rows, in place of what was there."""
        for name in (COMPLETE, META, JOURNAL, ROWS):
            (self.folder / name).unlink(missing_ok=True)
        with (self.folder / ROWS).open("wb") as file:
            if layout.bytes and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, layout.bytes)  # a full disk is met here, not half-way
            file.truncate(layout.bytes)
        (self.folder / JOURNAL).touch()
        write_atomic(self.folder / META, json.dumps(_meta(key.fields, layout), indent=2) + "\n")

    def finished(self, layout: Layout) -> dict[int, str]:
        """Return the checksum of every finished block; a line that was cut short counts for nothing."""
        found: dict[int, str] = {}
        lines = (self.folder / JOURNAL).read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        for line in lines:
            number, _, checksum = line.partition(" ")
            if number.isdecimal() and int(number) < layout.blocks and len(checksum) == 16:
                found[int(number)] = checksum
        return found

    def write(self, layout: Layout, block: int, data: UInt8[Array, "images views bytes"]) -> None:
        """Write a block, then note its checksum.

        A machine that loses power may keep the note and lose the block; the checksum tells when the block is read.
        """
        content = np.ascontiguousarray(data).data.cast("B")
        with (self.folder / ROWS).open("r+b") as file:
            file.seek(layout.rows(block).start * layout.views * layout.view_bytes)
            file.write(content)
        with locked(self.folder / FILLING), (self.folder / JOURNAL).open("r+b") as journal:
            length = journal.seek(0, os.SEEK_END)
            journal.seek(max(length - 1, 0))
            apart = b"" if journal.read(1) in {b"", b"\n"} else b"\n"  # from a line that was cut short
            journal.seek(length)
            journal.write(apart + f"{block} {digest_of(content)}\n".encode())

    def rewrite_journal(self, layout: Layout, *, without: Iterable[int] = ()) -> None:
        """Keep whole lines alone, and none of the blocks named, which are to be filled again."""
        with locked(self.folder / FILLING):
            left = {block: checksum for block, checksum in self.finished(layout).items() if block not in set(without)}
            (self.folder / COMPLETE).unlink(missing_ok=True)
            self._write_journal(left)

    def seal(self) -> str:
        """Return a checksum of meta and journal."""
        return digest_of((self.folder / META).read_bytes(), (self.folder / JOURNAL).read_bytes())

    def is_complete(self) -> bool:
        """Say whether every block was finished."""
        return (self.folder / COMPLETE).exists()

    def complete(self, layout: Layout) -> None:
        """Mark the bank as finished, unless another process has; who filled which block is not seen any more."""
        with locked(self.folder / FILLING):
            if not self.is_complete():
                self._write_journal(self.finished(layout))
                write_atomic(self.folder / COMPLETE, self.seal())

    def _write_journal(self, finished: dict[int, str]) -> None:
        lines = (f"{block} {checksum}\n" for block, checksum in sorted(finished.items()))
        write_atomic(self.folder / JOURNAL, "".join(lines))

    def mapped(self, layout: Layout) -> UInt8[Array, "images views bytes"]:
        """Return the rows, mapped into memory; changes to them would not reach the disk."""
        shape = (layout.images, layout.views, layout.view_bytes)
        return np.memmap(self.folder / ROWS, dtype=np.uint8, mode="c", shape=shape)

    def damaged(self) -> bool:
        """Read everything; say whether anything is not what was written."""
        layout = self.layout()
        if layout is None:
            return True
        mapped = self.mapped(layout)
        found = self.finished(layout).items()
        return any(block_checksum(mapped, layout, block) != checksum for block, checksum in found)

    def _complete_or_not_yet(self, layout: Layout) -> bool:
        if not self.is_complete():
            return True
        sealed = (self.folder / COMPLETE).read_text(encoding="utf-8") == self.seal()
        return sealed and len(self.finished(layout)) == layout.blocks


def block_checksum(mapped: UInt8[Array, "images views bytes"], layout: Layout, block: int) -> str:
    """Return the checksum of a block as it lies on the disk."""
    rows = layout.rows(block)
    return digest_of(mapped[rows.start : rows.stop].data.cast("B"))


def _meta(key: dict[str, Any], layout: Layout) -> dict[str, Any]:
    plain = json.loads(json.dumps({"format": FORMAT, "key": key, "layout": asdict(layout)}))
    return {**plain, "checksum": digest_of(json.dumps(plain, sort_keys=True).encode())}
