"""Decisions as lines of a file: CSV, JSON lines or Parquet, written block by block."""

import csv
import io
import json
import os
import secrets
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, cast

from metagcd.config import reason
from metagcd.errors import InputError, unknown_name
from metagcd.workspace.catalogue import ImageBlock
from metagcd.workspace.results import Decisions
from metagcd.workspace.types import VERDICTS

Format = Literal["csv", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "jsonl", "parquet")
COLUMNS = ("path", "class", "name", "verdict", "confidence", "novelty")
Block = tuple[Sequence[Any], ...]
"""Columns of equal length."""
Write = Callable[[Block], None]


def format_of(output: str, chosen: str = "") -> Format:
    """Return the format asked for, or that of the file's ending; CSV for standard output."""
    name = chosen or ("csv" if output == "-" else Path(output).suffix.removeprefix(".").lower())
    for one in FORMATS:
        if name == one:
            return one
    raise unknown_name("format", name or "(no ending)", FORMATS)


def decision_columns(decisions: Decisions) -> Block:
    """Return the columns of decisions."""
    names = [decisions.names[place] if place >= 0 else None for place in decisions.place.tolist()]
    return (
        [printable(path) for path in decisions.paths],
        decisions.classes,
        names,
        [VERDICTS[code] for code in decisions.verdict.tolist()],
        decisions.confidence.tolist(),
        decisions.novelty.tolist(),
    )


def image_columns(block: ImageBlock, names: dict[str, str]) -> Block:
    """Return the columns of images in the catalogue; `names` has the present name of every class."""
    return (
        [printable(path) for path in block.paths],
        block.classes,
        [None if one is None else names.get(one, one) for one in block.classes],
        [VERDICTS[code] for code in block.verdicts.tolist()],
        block.confidence.tolist(),
        block.novelty.tolist(),
        block.sessions.tolist(),
    )


def printable(path: str) -> str:
    """Return a path as text that every reader takes; bytes that are no text as hexadecimal numbers."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@contextmanager
def written(output: Path, form: Format, columns: Sequence[str]) -> Generator[Write]:
    """Open a file for blocks of lines; it appears whole when all are written, and not at all after an error."""
    with whole(output) as scratch, scratch.open("wb") as stream:
        yield from _writer(stream, form, columns)


@contextmanager
def streamed(stream: io.BufferedIOBase, form: Format, columns: Sequence[str]) -> Generator[Write]:
    """Write blocks of lines to a stream as they come."""
    if form == "parquet":
        raise InputError("Parquet goes to a file; give one with --output.")
    yield from _writer(stream, form, columns)


@contextmanager
def whole(output: Path) -> Generator[Path]:
    """Yield a path beside `output` that takes its place when all went well, and else is removed."""
    scratch = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
        scratch.replace(output)
    except OSError as error:
        raise InputError(f"Cannot write {output}: {reason(error)}.") from error
    finally:
        with suppress(OSError):
            scratch.unlink()


def _writer(stream: io.BufferedIOBase, form: Format, columns: Sequence[str]) -> Generator[Write]:
    if form == "parquet":
        yield from _parquet(stream, columns)
        return
    text = io.TextIOWrapper(cast(Any, stream), encoding="utf-8", newline="", write_through=True)
    try:
        yield _csv(text, columns) if form == "csv" else _json_lines(text, columns)
    finally:
        text.flush()
        text.detach()


def _csv(text: io.TextIOWrapper, columns: Sequence[str]) -> Write:
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    return lambda block: lines.writerows(_rounded(block))


def _json_lines(text: io.TextIOWrapper, columns: Sequence[str]) -> Write:
    def write(block: Block) -> None:
        text.writelines(json.dumps(dict(zip(columns, line, strict=True))) + "\n" for line in _rounded(block))

    return write


def _rounded(block: Block) -> Iterable[tuple[Any, ...]]:
    """Return lines with probabilities to four digits, which is finer than they are known."""
    return (tuple(round(v, 4) if isinstance(v, float) else v for v in line) for line in zip(*block, strict=True))


def _parquet(stream: io.BufferedIOBase, columns: Sequence[str]) -> Generator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"confidence": pa.float32(), "novelty": pa.float32(), "session": pa.int32()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
    with pq.ParquetWriter(stream, schema) as table:
        yield lambda block: table.write_table(pa.table(dict(zip(columns, block, strict=True)), schema=schema))
