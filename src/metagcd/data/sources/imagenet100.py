"""A hundred (or any number of) classes of ImageNet, chosen by a list."""

import re
from dataclasses import dataclass
from pathlib import Path

from metagcd.data import SOURCES
from metagcd.data.archives import ByHand, place
from metagcd.data.decode import Decoding
from metagcd.data.listings import Layout, Listing, unique_names
from metagcd.data.root import data_root
from metagcd.types import Dataset

EXPECTED = "train/<wnid>/*.JPEG and val/<wnid>/*.JPEG"
LIST = "imagenet100.txt"


@dataclass(frozen=True, kw_only=True)
class Imagenet100Config:
    """Photographs of the classes on a list; the validation part of ImageNet is the test part."""

    root: str = ""
    """Folder that holds `imagenet` and `imagenet100.txt`; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""
    folder: str = ""
    """ImageNet with train/<wnid> and val/<wnid>; empty: `imagenet` below the root."""
    class_list: str = ""
    """File with a wnid on each line and, if wanted, a name behind it; empty: `imagenet100.txt` below the root.
    Publications choose different hundreds, so there is no official list."""
    size: int = 256
    """Side of the stored images: 224 / 0.875."""

    @staticmethod
    def origin() -> ByHand:
        """Return how to get the data set."""
        return ByHand(
            source="imagenet100",
            folder="imagenet",
            instructions=(
                "ImageNet (ILSVRC 2012) needs a login at https://image-net.org: put train/<wnid>/ and val/<wnid>/ into "
                f"the folder `imagenet` of the data root (or name another as `folder`), and into {LIST} beside it the "
                "wnids of the classes, one a line."
            ),
        )


@SOURCES.register("imagenet100", Imagenet100Config)
def imagenet100(config: Imagenet100Config) -> Dataset:
    """ImageNet100: photographs of the ImageNet classes on a list."""
    root = data_root(config.root)
    folder = Path(config.folder).expanduser() if config.folder else place(config.origin(), root)
    layout = Layout(folder=folder, expected=EXPECTED)
    classes = _classes(Path(config.class_list).expanduser() if config.class_list else root / LIST)
    train, test = (_listing(layout, part, list(classes)) for part in ("train", "val"))
    names = unique_names(classes.values(), classes)
    return layout.dataset(train, test, names, Decoding(size=config.size))


def _classes(path: Path) -> dict[str, str]:
    """Return the names of the classes by wnid, in the order of the list."""
    layout = Layout(
        folder=path.parent, expected=f"{path.name} with one wnid (such as n01440764) a line, a name behind it"
    )
    classes: dict[str, str] = {}
    for line in layout.lines(path.name):
        wnid, *name = line.split(maxsplit=1)
        if not re.fullmatch(r"n\d{8}", wnid) or wnid in classes:
            raise layout.wrong(path, f"`{wnid}` is {'there twice' if wnid in classes else 'not a wnid'}")
        classes[wnid] = name[0] if name else wnid
    if not classes:
        raise layout.wrong(path, "it is empty")
    return classes


def _listing(layout: Layout, part: str, wnids: list[str]) -> Listing:
    return [(path, label) for label, wnid in enumerate(wnids) for path in layout.pictures(f"{part}/{wnid}")]
