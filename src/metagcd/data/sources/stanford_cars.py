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
    "(there or in devkit)"
)


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
    labelled = "cars_test_annos_withlabels.mat"
    beside = labelled if (layout.folder / labelled).is_file() else f"devkit/{labelled}"
    names = [str(name) for name in _column(layout, "devkit/cars_meta.mat", "class_names")]
    train = _listing(layout, "devkit/cars_train_annos.mat", "cars_train", len(names))
    test = _listing(layout, beside, "cars_test", len(names))
    return layout.dataset(train, test, names, Decoding(size=config.size))


def _listing(layout: Layout, file: str, images: str, classes: int) -> Listing:
    notes = _column(layout, file, "annotations")
    if not {"fname", "class"} <= set(notes.dtype.names or ()):
        raise layout.wrong(layout.folder / file, "its annotations lack `fname` or `class`")
    labels = [int(number) - 1 for number in notes["class"]]  # they count from 1
    if not all(0 <= label < classes for label in labels):
        raise layout.wrong(layout.folder / file, f"there are classes outside 1 to {classes}")
    return [(f"{images}/{name}", label) for name, label in zip(notes["fname"], labels, strict=True)]


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
