"""Pictures without labels."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metagcd.data import SOURCES
from metagcd.data.files import FileImages, Paths
from metagcd.data.lists import read_csv, read_parquet, text_of
from metagcd.data.rows import ArrayImages
from metagcd.data.scan import Check, existing_folder, scan, verify, walk
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class UnlabelledConfig(Check):
    """Pictures in a folder, in any nesting, in a list of paths, or in a file of arrays or encoded images."""

    path: str = ""
    """A folder of pictures or of Parquet files, a .txt file with one path per line, a .csv or .parquet file with a
    column `path`, a .parquet file with encoded images, or a .npz file with `x`. Labels in them are not read."""
    root: str = ""
    """Where the paths of a list start; empty: the folder of the list."""


@SOURCES.register("unlabelled", UnlabelledConfig)
def unlabelled(config: UnlabelledConfig, progress: Progress | None = None) -> UnlabelledSet:
    """Pictures without labels: a folder in any nesting, a list of paths, or a file of images."""
    if not config.path:
        raise InputError("Give a folder or a list of images as `path`.")
    path = Path(config.path).expanduser()
    kind = "" if path.is_dir() else path.suffix.lower()
    if kind == ".npz":
        return _of_arrays(path)
    if (kind == ".parquet" and not _has_paths(path)) or (not kind and _holds_parquet(path)):
        return _of_parquet(path, config, progress)
    if kind in (".txt", ".csv", ".parquet"):
        root = existing_folder(config.root or path.parent)
        checked = verify(Paths.of(root, _listed(path)), config, progress)
    else:
        checked = scan(path, config, progress)
    if not len(checked.paths):
        hint = f" The first of {len(checked.skipped)}: {checked.skipped[0].reason}." if checked.skipped else ""
        raise InputError(f"No readable image in {os.fspath(path)!r}.{hint}")
    return UnlabelledSet(images=FileImages(checked.paths, config.decoding), skipped=checked.skipped)


def _of_arrays(path: Path) -> UnlabelledSet:
    from metagcd.data.sources.arrays import pixels_alone

    return UnlabelledSet(images=ArrayImages(pixels_alone(path)))


def _of_parquet(path: Path, config: UnlabelledConfig, progress: Progress | None) -> UnlabelledSet:
    from metagcd.data.sources.parquet import images_alone

    images, skipped = images_alone(path, config, progress)
    if not len(images):
        raise InputError(f"No readable image in {os.fspath(path)!r}.")
    return UnlabelledSet(images=images, skipped=skipped)


def _holds_parquet(path: Path) -> bool:
    return path.is_dir() and any(name.lower().endswith(".parquet") for name in walk(str(path), []))


def _has_paths(path: Path) -> bool:
    from metagcd.data.guess import lists_paths

    return lists_paths(path)


def _listed(path: Path) -> Sequence[str]:
    if path.suffix.lower() == ".txt":
        return [line.rstrip("\r") for line in text_of(path).split("\n") if line.strip()]
    table = read_csv(path, ("path",)) if path.suffix.lower() == ".csv" else read_parquet(path, ("path",), ("path",))
    return [one for one in table["path"] if one]
