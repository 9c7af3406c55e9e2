"""Pictures without labels."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metagcd.data import SOURCES
from metagcd.data.files import FileImages, Paths
from metagcd.data.lists import read_csv, text_of
from metagcd.data.scan import Check, existing_folder, scan, verify
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class UnlabelledConfig(Check):
    """Pictures in a folder, in any nesting, or in a list of paths."""

    path: str = ""
    """A folder, a .txt file with one path per line, or a .csv file with a column `path`."""
    root: str = ""
    """Where the paths of a list start; empty: the folder of the list."""


@SOURCES.register("unlabelled", UnlabelledConfig)
def unlabelled(config: UnlabelledConfig, progress: Progress | None = None) -> UnlabelledSet:
    """Pictures without labels: a folder in any nesting, or a list of paths."""
    if not config.path:
        raise InputError("Give a folder, or a .txt or .csv list of images, as `path`.")
    path = Path(config.path).expanduser()
    if path.suffix.lower() in (".txt", ".csv") and not path.is_dir():
        root = existing_folder(config.root or path.parent)
        checked = verify(Paths.of(root, _listed(path)), config, progress)
    else:
        checked = scan(path, config, progress)
    if not len(checked.paths):
        hint = f" The first of {len(checked.skipped)}: {checked.skipped[0].reason}." if checked.skipped else ""
        raise InputError(f"No readable image in {os.fspath(path)!r}.{hint}")
    return UnlabelledSet(images=FileImages(checked.paths, config.decoding), skipped=checked.skipped)


def _listed(path: Path) -> Sequence[str]:
    if path.suffix.lower() == ".csv":
        table = read_csv(path, ("path",))
        return [one for one in table["path"] if one]
    return [line.rstrip("\r") for line in text_of(path).split("\n") if line.strip()]
