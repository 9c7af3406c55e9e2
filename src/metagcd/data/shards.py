"""Images that lie encoded in a column of Parquet files, decoded when they are read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, UInt8

from metagcd.data.decode import Decoding, decode, decode_rows
from metagcd.data.files import content_digest
from metagcd.data.lists import first_line
from metagcd.data.pictures import UnreadableError, picture_size
from metagcd.data.rows import fingerprint
from metagcd.data.scan import Check
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import Array, Skipped


@dataclass(frozen=True, eq=False)
class ShardImages:
    """The pictures in one column of Parquet files.

    Only the bounds of the row groups are kept. A read loads each row group it touches once, and the last two stay:
    reading in order is cheap, single rows far apart cost a row group each.
    """

    files: tuple[str, ...]
    column: str
    """The column of bytes; `image.bytes` for the field of a struct."""
    groups: Int[Array, "g 2"]
    """File and row group within the file."""
    ends: Int[Array, " g"]
    """Rows up to the end of each row group."""
    how: Decoding

    @classmethod
    def of(cls, files: Sequence[str], column: str, how: Decoding) -> "ShardImages":
        """Index the row groups of the files."""
        import pyarrow.parquet as pq

        groups: list[tuple[int, int]] = []
        counts: list[int] = []
        for number, file in enumerate(files):
            metadata = pq.read_metadata(file)
            for group in range(metadata.num_row_groups):
                groups.append((number, group))
                counts.append(metadata.row_group(group).num_rows)
        bounds = np.array(groups, dtype=np.int64).reshape(-1, 2)
        return cls(tuple(files), column, bounds, np.cumsum(counts, dtype=np.int64), how)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def read(self, rows: Int[Array, " b"]) -> UInt8[Array, "b size size 3"]:
        """Return the images at these positions."""
        pixels = np.empty((len(rows), self.how.size, self.how.size, 3), dtype=np.uint8)
        of_row = np.searchsorted(self.ends, rows, side="right")
        for group in np.unique(of_row).tolist():
            places = np.flatnonzero(of_row == group)
            start, contents = self._group(group)

            def one(row: int, start: int = start, contents: Any = contents) -> UInt8[Array, "size size 3"]:
                try:
                    return decode(_bytes(contents, row - start), self.how)
                except UnreadableError as error:
                    raise InputError(f"Cannot read the image in {self.place(row)}: {error.reason}.") from error

            pixels[places] = decode_rows(one, rows[places], size=self.how.size)
        return pixels

    @property
    def fingerprint(self) -> str:
        """Return a digest of sizes, footers and samples of the files, and how the images are decoded.

        The footer of a Parquet file holds where each column of each row group lies and how long it is, so that
        other images or another order give other bytes there.
        """
        return self._fingerprint

    def encoded(self, row: int) -> bytes:
        """Return the bytes of a picture as the table holds them; nothing where they are absent."""
        start, contents = self._group(int(np.searchsorted(self.ends, row, side="right")))
        return contents[row - start].as_py() or b""

    def place(self, row: int) -> str:
        """Return file and row, for messages."""
        group = int(np.searchsorted(self.ends, row, side="right"))
        number = int(self.groups[group, 0])
        first = int(np.flatnonzero(self.groups[:, 0] == number)[0])
        return f"{self.files[number]}, row {row - (int(self.ends[first - 1]) if first else 0)}"

    def verify(self, check: Check, progress: Progress | None = None) -> tuple[Bool[Array, " n"], tuple[Skipped, ...]]:
        """Look at every picture, one row group at a time; say which can be used, and why others cannot."""
        usable = np.ones(len(self), dtype=bool)
        if check.check == "none":
            return usable, ()
        skipped: list[Skipped] = []
        for group in (progress or Progress()).track(range(len(self.groups)), "check pictures", len(self.groups)):
            start, contents = self._group(group)
            for row in range(start, int(self.ends[group])):
                if reason := _trouble(contents, row - start, check):
                    usable[row] = False
                    skipped.append(Skipped(path=self.place(row), reason=reason))
        if check.strict and skipped:
            raise InputError(f"Cannot use {skipped[0].path}: {skipped[0].reason}. Mend it, or switch `strict` off.")
        return usable, tuple(skipped)

    @cached_property
    def _fingerprint(self) -> str:
        how = repr((self.how.size, self.how.fit, self.how.background, self.how.crop_bottom, self.column))
        return fingerprint(
            how.encode(), *(part for file in self.files for part in (content_digest(file), _footer(file)))
        )

    def _group(self, group: int) -> tuple[int, Any]:
        number, inside = self.groups[group].tolist()
        file = Path(self.files[number]).absolute()
        return int(self.ends[group - 1]) if group else 0, _column(file, _stamp(file), inside, self.column)


def _stamp(file: Path) -> tuple[int, int]:
    """Return what changes when a file does, so that nothing is told of one that was replaced; zeros without a file."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=2)
def _column(file: Path, stamp: tuple[int, int], group: int, column: str) -> Any:
    del stamp
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        with pq.ParquetFile(file) as table:
            values = table.read_row_group(group, columns=[column]).column(0).combine_chunks()
    except (OSError, ArrowException) as error:
        raise InputError(f"Cannot read {str(file)!r} as Parquet: {first_line(error)}") from error
    # A struct holds its fields where it is not itself absent.
    return values.field("bytes") if column.endswith(".bytes") else values


def _bytes(contents: Any, row: int) -> bytes:
    content = contents[row].as_py()
    if content is None:
        raise UnreadableError("there are no bytes in the table")
    return content


def _trouble(contents: Any, row: int, check: Check) -> str:
    try:
        content = _bytes(contents, row)
        picture_size(content, pixel_limit=check.pixel_limit)
        if check.check == "full":
            decode(content, check)
    except UnreadableError as error:
        return error.reason
    return ""


def _footer(file: str) -> bytes:
    """Return the metadata at the end of a Parquet file: its length stands before the last four bytes."""
    with Path(file).open("rb") as stream:
        stream.seek(-8, os.SEEK_END)
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - length, os.SEEK_END)
        return stream.read(length)
