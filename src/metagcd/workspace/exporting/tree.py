"""A folder per class, with links to the images or copies of them."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from metagcd.config import reason
from metagcd.errors import InputError
from metagcd.workspace.exporting import EXPORTS, Source

UNSURE = "_unsure"
"""Folder of the images that no class has for sure."""


@dataclass(frozen=True, kw_only=True)
class TreeConfig:
    """Settings of the folder tree."""

    how: Literal["link", "copy"] = "link"
    """`link`: symbolic links, which take no room; `copy`: files that stand alone."""


@EXPORTS.register("tree", TreeConfig)
def tree(config: TreeConfig, source: Source, output: Path) -> str:
    """A folder per class with links to its images, or copies; images of no file are left out."""
    place = placing(output, config.how)
    folders = folder_names({one: name for one, name in source.names.items() if one not in source.rejected})
    count, missing = 0, 0
    for image in source.labelled():
        if not Path(image.path).is_file():
            missing += 1
            continue
        place(image.path, UNSURE if image.own is None else folders[image.own], f"{image.number:07}")
        count += 1
    return f"{count} images" + (f"; {missing} are not where they were" if missing else "")


def placing(output: Path, how: Literal["link", "copy"]) -> Callable[[str, str, str], Path]:
    """Return what puts a file into a folder below `output`, which must be new or empty."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()):
            raise InputError(f"{output} is not empty; give a new folder.")
    except OSError as error:
        raise InputError(f"Cannot write {output}: {reason(error)}.") from error

    def place(path: str, folder: str, stem: str) -> Path:
        target = output / folder / f"{stem}-{Path(path).name}"
        try:
            target.parent.mkdir(exist_ok=True)
            target.symlink_to(path) if how == "link" else shutil.copy2(path, target)
        except OSError as error:
            raise InputError(f"Cannot write {target}: {reason(error)}.") from error
        return target

    return place


def folder_names(names: dict[str, str]) -> dict[str, str]:
    """Return for every class a folder name of its own that every file system takes."""
    found, given = dict[str, str](), {UNSURE}
    for one, name in names.items():
        plain = re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", os.fsencode(name).decode("utf-8", "replace")).strip(". ") or "_"
        folder = plain if plain.casefold() not in given else f"{plain} ({one})"
        given.add(folder.casefold())
        found[one] = folder
    return found
