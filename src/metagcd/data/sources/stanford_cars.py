"""Stanford Cars, from its official folders and lists."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metagcd.data import SOURCES
from metagcd.data.archives import ByHand, place
from metagcd.data.decode import Decoding
from metagcd.data.listings import Layout, Listing
from metagcd.data.root import data_root
from metagcd.types import Dataset

EXPECTED = (
    "cars_train, cars_test, devkit/cars_meta.mat, devkit/cars_train_annos.mat, and cars_test_annos_withlabels.mat "
    "(there or in devkit); or car_ims and cars_annos.mat"
)
WHOLE = "cars_annos.mat"
"""The one list of the publication's first form, with all images in one folder."""


@dataclass(frozen=True, kw_only=True)
class StanfordCarsConfig:
    """16,185 photographs of cars, 196 models."""

    root: str = ""
    """Folder that holds `stanford_cars`; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""
    size: int = 256
    """Side of the stored images: 224 / 0.875."""

    @staticmethod
    def origin() -> ByHand:
        """Return how to get the data set."""
        return ByHand(
            source="stanford_cars",
            folder="stanford_cars",
            instructions=(
                "Its publisher withdrew the download; from a copy of your own, put into the folder `stanford_cars` of "
                f"the data root: {EXPECTED}."
            ),
        )


@SOURCES.register("stanford_cars", StanfordCarsConfig)
def stanford_cars(config: StanfordCarsConfig) -> Dataset:
    """Stanford Cars: photographs of cars, 196 models."""
    layout = Layout(folder=place(config.origin(), data_root(config.root)), expected=EXPECTED)
    one_list = (layout.folder / WHOLE).is_file() and (layout.folder / "car_ims").is_dir()
    names, train, test = _one_list(layout) if one_list else _two_lists(layout)
    return layout.dataset(train, test, names, Decoding(size=config.size))


def _one_list(layout: Layout) -> tuple[list[str], Listing, Listing]:
    names = _names(layout, WHOLE)
    notes, everything = _notes(layout, WHOLE, "relative_im_path", len(names))
    if "test" not in (notes.dtype.names or ()):
        raise layout.wrong(layout.folder / WHOLE, "its annotations lack `test`")
    train, test = (
        [entry for entry, mark in zip(everything, notes["test"], strict=True) if int(mark) == part] for part in (0, 1)
    )
    return names, train, test


def _two_lists(layout: Layout) -> tuple[list[str], Listing, Listing]:
    labelled = "cars_test_annos_withlabels.mat"
    beside = labelled if (layout.folder / labelled).is_file() else f"devkit/{labelled}"
    names = _names(layout, "devkit/cars_meta.mat")
    _, train = _notes(layout, "devkit/cars_train_annos.mat", "fname", len(names))
    _, test = _notes(layout, beside, "fname", len(names))
    return (
        names,
        [(f"cars_train/{name}", label) for name, label in train],
        [(f"cars_test/{name}", label) for name, label in test],
    )


def _names(layout: Layout, file: str) -> list[str]:
    return [str(name) for name in _column(layout, file, "class_names")]


def _notes(layout: Layout, file: str, path: str, classes: int) -> tuple[np.ndarray, Listing]:
    """Return the annotations of a list, and the paths and class ids in them."""
    notes = _column(layout, file, "annotations")
    if not {path, "class"} <= set(notes.dtype.names or ()):
        raise layout.wrong(layout.folder / file, f"its annotations lack `{path}` or `class`")
    labels = [int(number) - 1 for number in notes["class"]]  # they count from 1
    if not all(0 <= label < classes for label in labels):
        raise layout.wrong(layout.folder / file, f"there are classes outside 1 to {classes}")
    return notes, [(str(name), label) for name, label in zip(notes[path], labels, strict=True)]


def _column(layout: Layout, file: str, key: str) -> np.ndarray:
    path = layout.folder / file
    if not path.is_file():
        raise layout.wrong(path, "no such file")
    content = _matlab(layout, path)
    if key not in content:
        raise layout.wrong(path, f"there is no `{key}` in it")
    return np.atleast_1d(content[key])


def _matlab(layout: Layout, path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        return loadmat(path, squeeze_me=True)
    except Exception as error:  # The reader fails in many ways on a file that is none of its own.
        raise layout.wrong(path, "not a readable MATLAB file") from error
