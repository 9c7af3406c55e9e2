"""Parquet files as hubs of data sets lay them out: encoded images in a column, labels in another."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from metagcd.data import SOURCES
from metagcd.data.lists import first_line
from metagcd.data.parts import Labelled, ids
from metagcd.data.rows import select
from metagcd.data.scan import Check, walk
from metagcd.data.shards import ShardImages
from metagcd.errors import InputError, unknown_name
from metagcd.progress import Progress
from metagcd.types import Array, Dataset, Images, Skipped

LABELS = ("label", "labels", "fine_label", "class", "target")
TRAIN = r"train"
TESTS = (r"test", r"val(?:id(?:ation)?)?")
"""Parts of file or folder names; the first whose labels are known counts."""


@dataclass(frozen=True, kw_only=True)
class ParquetConfig(Check):
    """One or many Parquet files with a column of encoded images and one of labels."""

    path: str = ""
    """A file, or a folder with files named train-..., test-... or validation-... in any nesting."""
    image_column: str = ""
    """The column of images: bytes, or a struct with `bytes`; empty: the only one of that kind."""
    label_column: str = ""
    """The column of labels: integers or text; empty: `label`, `labels`, `fine_label`, `class` or `target`."""
    test_fraction: float = 0.2
    """Share of every class set aside as the test part, by a fixed draw, where there are no files for it."""
    check: Literal["header", "full", "none"] = "none"
    """`none`: an image is first looked at when it is read; `header`, `full`: all files are read through at first."""


@SOURCES.register("parquet", ParquetConfig)
def parquet(config: ParquetConfig, progress: Progress | None = None) -> Dataset:
    """One or many Parquet files with encoded images and labels, in the layout of data set hubs."""
    if not config.path:
        raise InputError("Give the Parquet file or a folder of them as `path`.")
    from pyarrow import ArrowException

    path = Path(config.path).expanduser()
    try:
        return _read(path, config, progress)
    except (OSError, ArrowException) as error:
        raise InputError(f"Cannot read {os.fspath(path)!r} as Parquet: {first_line(error)}") from error


def image_columns(schema: Any) -> list[str]:
    """Return the columns that may hold encoded images, a struct's as `name.bytes`."""
    import pyarrow as pa

    found: list[str] = []
    for field in schema:
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            found.append(field.name)
        elif pa.types.is_struct(field.type) and field.type.get_field_index("bytes") >= 0:
            found.append(f"{field.name}.bytes")
    return found


def images_alone(path: Path, check: Check, progress: Progress | None = None) -> tuple[Images, tuple[Skipped, ...]]:
    """Return the images of a file or of all files in a folder; no other column is read."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    files = [file for part in _parts(path) for file in part]
    try:
        schema = pq.read_schema(files[0])
        images = ShardImages.of(files, _chosen("image column", "", image_columns(schema), schema), check.decoding)
        usable, skipped = images.verify(check, progress)
    except (OSError, ArrowException) as error:
        raise InputError(f"Cannot read {os.fspath(path)!r} as Parquet: {first_line(error)}") from error
    return images if usable.all() else select(images, np.flatnonzero(usable)), skipped


def _read(path: Path, config: ParquetConfig, progress: Progress | None) -> Dataset:
    import pyarrow.parquet as pq

    parts = _parts(path)
    schema = pq.read_schema(parts[0][0])
    label_column = _chosen(
        "label column", config.label_column, [name for name in LABELS if name in schema.names], schema
    )
    images_in = _chosen("image column", config.image_column, image_columns(schema), schema)
    labels = [_labels(files, label_column) for files in parts]
    # Published test parts often carry -1 in place of labels.
    known = [place for place, values in enumerate(labels) if not place or values.dtype.kind == "U" or values.max() >= 0]
    chosen = known[:2]
    images = ShardImages.of([file for place in chosen for file in parts[place]], images_in, config.decoding)
    both = np.concatenate([labels[place] for place in chosen])
    names, places = _classes(schema, label_column, both, path)
    usable, skipped = images.verify(config, progress)
    test = np.arange(len(both)) >= len(labels[0]) if len(chosen) > 1 else None
    rows = np.flatnonzero(usable)
    found = Labelled(
        images=images if usable.all() else select(images, rows),
        labels=places[rows],
        class_names=names,
        test=None if test is None else test[rows],
        skipped=skipped,
    )
    return found.dataset(config.test_fraction)


def _parts(path: Path) -> list[list[str]]:
    """Return the files of the training part, then those of each test part."""
    if not path.exists():
        raise InputError(f"There is no file or folder {os.fspath(path)!r}.")
    if not path.is_dir():
        return [[str(path)]]
    files = [name for name in walk(str(path), []) if name.lower().endswith(".parquet")]
    if not files:
        raise InputError(f"{os.fspath(path)!r} holds no .parquet file.")
    named = [[name for name in files if _names(part, name)] for part in (TRAIN, *TESTS)]
    if not named[0]:
        if any(named):
            raise InputError(
                f"{os.fspath(path)!r} holds files of a test part, but none whose name starts with `train`."
            )
        named = [files]
    return [[str(path / name) for name in part] for part in named if part]


def _names(part: str, name: str) -> bool:
    return re.search(rf"(?:^|[/\\]){part}(?![a-z])", name, re.IGNORECASE) is not None


def _chosen(kind: str, given: str, found: Sequence[str], schema: Any) -> str:
    if given and given not in schema.names:
        raise unknown_name(kind, given, schema.names)
    if given:
        return next((column for column in found if column.removesuffix(".bytes") == given), given)
    if not found or (kind == "image column" and len(found) > 1):
        which = "None" if not found else "Several"
        option = kind.replace(" ", "_")
        raise InputError(f"{which} of the columns is a sure {kind}; name it as `{option}`: {', '.join(schema.names)}.")
    return found[0]


def _labels(files: Sequence[str], column: str) -> Array:
    import pyarrow.parquet as pq

    values: list[Array] = []
    for file in files:
        labels = pq.read_table(file, columns=[column]).column(0)
        if labels.null_count:
            raise InputError(f"{file!r}: {labels.null_count} labels in `{column}` are empty.")
        array = np.asarray(labels.to_numpy())
        array = (
            array.astype(str) if array.dtype == object and all(isinstance(v, str) for v in array.tolist()) else array
        )
        if array.dtype.kind not in "iuU":
            raise InputError(f"{file!r}: `{column}` must hold integers or text; it holds {labels.type}.")
        values.append(array)
    return np.concatenate(values)


def _classes(schema: Any, column: str, labels: Array, path: Path) -> tuple[tuple[str, ...], Int[Array, " n"]]:
    names = _names_in_metadata(schema, column)
    if not names or labels.dtype.kind == "U":
        return ids(labels)
    if labels.min() < 0 or labels.max() >= len(names):
        span = f"{labels.min()} to {labels.max()}"
        raise InputError(f"{os.fspath(path)!r}: labels run from {span}, but the file names {len(names)} classes.")
    return names, labels.astype(np.int64)


def _names_in_metadata(schema: Any, column: str) -> tuple[str, ...]:
    try:
        described = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = described.get("info", described).get("features", {})
        return tuple(str(name) for name in features[column]["names"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()
