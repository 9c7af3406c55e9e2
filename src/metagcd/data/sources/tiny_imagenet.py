"""Tiny-ImageNet, from its official archive; its validation part is the test part."""

from dataclasses import dataclass

from metagcd.data import SOURCES
from metagcd.data.archives import Archive, place
from metagcd.data.decode import Decoding
from metagcd.data.listings import Layout, Listing, unique_names
from metagcd.data.root import data_root
from metagcd.types import Dataset

EXPECTED = (
    "train/<wnid>/images/*.JPEG, words.txt, and val/images with val/val_annotations.txt or val/<wnid>/[images/]*.JPEG"
)


@dataclass(frozen=True, kw_only=True)
class TinyImagenetConfig:
    """110,000 photographs of 64 x 64 pixels, 200 classes."""

    root: str = ""
    """Folder that holds the archive or what was unpacked from it; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""
    size: int = 64
    """Side of the stored images; 64 is their own, so that nothing is lost and views enlarge them once."""

    @staticmethod
    def origin() -> Archive:
        """Return where the data set comes from."""
        return Archive(
            source="tiny_imagenet",
            url="http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            file="tiny-imagenet-200.zip",
            md5="90528d7ca1a48142e341f4ef8d21d0de",
            folder="tiny-imagenet-200",
        )


@SOURCES.register("tiny_imagenet", TinyImagenetConfig)
def tiny_imagenet(config: TinyImagenetConfig) -> Dataset:
    """Tiny-ImageNet: photographs, 64 x 64, 200 classes."""
    layout = Layout(folder=place(config.origin(), data_root(config.root)), expected=EXPECTED)
    wnids = layout.folders("train")
    train = [(path, label) for label, wnid in enumerate(wnids) for path in _pictures(layout, f"train/{wnid}")]
    return layout.dataset(train, _test(layout, wnids), _names(layout, wnids), Decoding(size=config.size))


def _test(layout: Layout, wnids: list[str]) -> Listing:
    """Return the validation images in the order of their file names, whichever way they are laid out."""
    if any((layout.folder / "val" / wnid).is_dir() for wnid in wnids):
        found = [(path, label) for label, wnid in enumerate(wnids) for path in _pictures(layout, f"val/{wnid}")]
    else:
        found = _annotated(layout, {wnid: label for label, wnid in enumerate(wnids)})
    return sorted(found, key=lambda item: item[0].rpartition("/")[2])


def _annotated(layout: Layout, labels: dict[str, int]) -> Listing:
    file = "val/val_annotations.txt"
    found: Listing = []
    for name, rest in layout.pairs(file):
        wnid = rest.split()[0]
        if wnid not in labels:
            raise layout.wrong(layout.folder / file, f"the class {wnid} of {name} has no folder below train")
        found.append((f"val/images/{name}", labels[wnid]))
    return found


def _pictures(layout: Layout, folder: str) -> list[str]:
    inner = f"{folder}/images"
    return layout.pictures(inner if (layout.folder / inner).is_dir() else folder)


def _names(layout: Layout, wnids: list[str]) -> tuple[str, ...]:
    words: dict[str, str] = {}
    if (layout.folder / "words.txt").is_file():
        words = {wnid: synonyms.partition(",")[0].strip() for wnid, synonyms in layout.pairs("words.txt")}
    return unique_names([words.get(wnid, wnid) for wnid in wnids], wnids)
