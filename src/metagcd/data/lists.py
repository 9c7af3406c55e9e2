"""Read tables of paths and labels: CSV and Parquet."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metagcd.config import reason
from metagcd.errors import InputError

Table = dict[str, list[Any]]
"""Column name -> values, all columns of one length."""


def text_of(path: Path) -> str:
    """Return the text of a list; names of any bytes survive, a byte order mark does not."""
    try:
        return path.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise InputError(f"Cannot read {os.fspath(path)!r}: {reason(error)}.") from error


def read_csv(path: Path, needed: Sequence[str]) -> Table:
    """Return the columns of a CSV file whose first line names them; every line must have as many values."""
    try:
        # Newlines as they are: a quoted name may hold one.
        reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
        header = next(reader, [])
        check_columns(path, header, needed)
        columns: list[list[str]] = [[] for _ in header]
        for row in reader:
            if row and len(row) != len(header):
                found = f"{len(row)} values; the first line names {len(header)}"
                raise InputError(f"{os.fspath(path)!r}, line {reader.line_num}: {found}.")
            for column, value in zip(columns, row, strict=False):
                column.append(value)
    except csv.Error as error:
        raise InputError(f"{os.fspath(path)!r} is not valid CSV: {error}.") from error
    return dict(zip(header, columns, strict=True))


def read_parquet(path: Path, columns: Sequence[str], needed: Sequence[str]) -> Table:
    """Return those of the columns that a Parquet file has."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        names = pq.read_schema(path).names
        check_columns(path, names, needed)
        return pq.read_table(path, columns=[name for name in columns if name in names]).to_pydict()
    except (OSError, ArrowException) as error:
        raise InputError(f"Cannot read {os.fspath(path)!r} as Parquet: {first_line(error)}") from error


def check_columns(path: Path, found: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column."""
    for name in needed:
        if name not in found:
            there = ", ".join(found) or "none"
            raise InputError(f"{os.fspath(path)!r} has no column `{name}`; the columns are: {there}.")


def first_line(error: Exception) -> str:
    """Return what a library says, without the lines that are for its authors."""
    return getattr(error, "strerror", None) or str(error).strip().partition("\n")[0] or type(error).__name__
