"""One folder of pictures for each class."""

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metagcd.data import SOURCES
from metagcd.data.files import FileImages, Paths
from metagcd.data.parts import Labelled, natural, shown
from metagcd.data.scan import Check, existing_folder, verify, visible, walk
from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.types import Dataset, Skipped

TEST_NAMES = ("test", "val", "valid", "validation")
"""Folders that hold the test part beside `train`; the first that has class folders counts."""


@dataclass(frozen=True, kw_only=True)
class FolderConfig(Check):
    """Pictures in one folder per class, in any nesting inside; optionally below `train` and `test` (or `val`)."""

    path: str = ""
    """The folder that holds the class folders, or `train` and `test`."""
    test_fraction: float = 0.2
    """Share of every class set aside as the test part, by a fixed draw, where there is no folder for it."""


@SOURCES.register("folder", FolderConfig)
def folder(config: FolderConfig, progress: Progress | None = None) -> Dataset:
    """One folder of pictures per class, optionally below train/ and test/."""
    if not config.path:
        raise InputError("Give the folder of the images as `path`.")
    root = existing_folder(config.path)
    parts = _parts(root)
    names = _class_names(root, parts)
    problems: list[Skipped] = []
    labels, test = array("q"), array("b")

    def relative() -> Iterator[str]:
        for is_test, part in enumerate(parts):
            for label, name in enumerate(names):
                below = str(Path(part, name))
                for path in walk(str(Path(root, below)), problems) if Path(root, below).is_dir() else ():
                    labels.append(label)
                    test.append(is_test)
                    yield f"{below}{os.sep}{path}"

    checked = verify(Paths.of(root, relative()), config, progress)
    found = Labelled(
        images=FileImages(checked.paths, config.decoding),
        labels=np.array(labels, dtype=np.int64)[checked.rows],
        class_names=tuple(shown(name) for name in names),
        test=np.array(test, dtype=bool)[checked.rows] if len(parts) > 1 else None,
        skipped=(*problems, *checked.skipped),
    )
    if config.strict and problems:
        raise InputError(f"Cannot use {problems[0].path!r}: {problems[0].reason}.")
    _check_every_class(found, root)
    return found.dataset(config.test_fraction)


def class_folders(root: str) -> list[str]:
    """Return the visible folders of a folder, in natural order."""
    try:
        return sorted((path.name for path in Path(root).iterdir() if visible(path.name) and path.is_dir()), key=natural)
    except OSError as error:
        raise InputError(f"Cannot read the folder {root!r}: {error.strerror}.") from error


def _parts(root: str) -> tuple[str, ...]:
    """Return the folders of the training part and, if there is one, of the test part."""
    # `train` is a vehicle, too: it is a part only if it holds folders itself.
    inside = {name.lower(): name for name in class_folders(root)}
    train = inside.get("train")
    if train is None or not class_folders(str(Path(root, train))):
        return ("",)
    tests = [inside[name] for name in TEST_NAMES if name in inside and class_folders(str(Path(root, inside[name])))]
    if tests:
        return (train, tests[0])
    return (train,) if len(inside) == 1 else ("",)


def _class_names(root: str, parts: tuple[str, ...]) -> list[str]:
    names = class_folders(str(Path(root, parts[0])))
    if not names:
        raise InputError(f"{root!r} holds no class folders; for images without classes use the source `unlabelled`.")
    for part in parts[1:]:
        if extra := [name for name in class_folders(str(Path(root, part))) if name not in names]:
            raise InputError(
                f"{str(Path(root, part, extra[0]))!r} has no counterpart in {str(Path(root, parts[0]))!r}."
            )
    return names


def _check_every_class(found: Labelled, root: str) -> None:
    train = found.labels if found.test is None else found.labels[~found.test]
    counts = np.bincount(train, minlength=len(found.class_names))
    if not counts.all():
        name = found.class_names[int(np.argmin(counts))]
        hint = f" {found.skipped[0].path!r}: {found.skipped[0].reason}." if found.skipped else ""
        raise InputError(f"No readable training image of class {name!r} in {root!r}; add some or remove it.{hint}")
