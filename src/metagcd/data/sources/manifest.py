"""A table of paths and labels."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metagcd.data import SOURCES
from metagcd.data.files import FileImages, Paths
from metagcd.data.lists import Table, read_csv, read_parquet
from metagcd.data.parts import Labelled, ids, shown
from metagcd.data.scan import Check, existing_folder, verify
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import Dataset

COLUMNS = ("path", "label", "split")


@dataclass(frozen=True, kw_only=True)
class ManifestConfig(Check):
    """A CSV or Parquet table with the columns `path` and `label`, and maybe `split` (train or test)."""

    path: str = ""
    """The table."""
    root: str = ""
    """Where the paths in the table start; empty: the folder of the table."""
    test_fraction: float = 0.2
    """Share of every class set aside as the test part, by a fixed draw, where no line says `test`."""


@SOURCES.register("manifest", ManifestConfig)
def manifest(config: ManifestConfig, progress: Progress | None = None) -> Dataset:
    """A CSV or Parquet table of paths and labels, optionally with a split."""
    if not config.path:
        raise InputError("Give the table of paths and labels as `path`.")
    path = Path(config.path).expanduser()
    table = _table(path)
    root = existing_folder(config.root or path.parent)
    checked = verify(Paths.of(root, table["path"]), config, progress)
    if not len(checked.rows):
        hint = f" The first: {checked.skipped[0].path!r}: {checked.skipped[0].reason}." if checked.skipped else ""
        raise InputError(f"{os.fspath(path)!r} lists no readable image; paths start at {root!r}.{hint}")
    names, labels = ids([str(table["label"][row]) for row in checked.rows.tolist()])
    test = np.array([table["split"][row] == "test" for row in checked.rows.tolist()]) if "split" in table else None
    found = Labelled(
        images=FileImages(checked.paths, config.decoding),
        labels=labels,
        class_names=tuple(shown(name) for name in names),
        test=test if test is not None and test.any() else None,
        skipped=checked.skipped,
    )
    return found.dataset(config.test_fraction)


def _table(path: Path) -> Table:
    if path.suffix.lower() == ".parquet":
        table = read_parquet(path, COLUMNS, COLUMNS[:2])
    else:
        table = read_csv(path, COLUMNS[:2])
    _check_values(path, "path", table["path"], _is_path)
    _check_values(path, "label", table["label"], lambda value: type(value) in (str, int) and value != "")
    _check_values(path, "split", table.get("split", ()), lambda value: value in ("train", "test"))
    return table


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _check_values(path: Path, column: str, values: Sequence[Any], right: Any) -> None:
    expected = {"path": "a path", "label": "text or an integer", "split": "train or test"}[column]
    for row, value in enumerate(values, 1):
        if not right(value):
            raise InputError(f"{os.fspath(path)!r}, row {row}: `{column}` must be {expected}; got {value!r}.")
