"""CUB-200-2011, from its official archive."""

from dataclasses import dataclass

from metagcd.data import SOURCES
from metagcd.data.archives import Archive, place
from metagcd.data.decode import Decoding
from metagcd.data.listings import Layout
from metagcd.data.root import data_root
from metagcd.types import Dataset

EXPECTED = "images.txt, image_class_labels.txt, train_test_split.txt, classes.txt and the folder images"


@dataclass(frozen=True, kw_only=True)
class Cub200Config:
    """11,788 photographs of birds, 200 species."""

    root: str = ""
    """Folder that holds the archive or what was unpacked from it; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""
    size: int = 256
    """Side of the stored images: 224 / 0.875."""

    @staticmethod
    def origin() -> Archive:
        """Return where the data set comes from."""
        return Archive(
            source="cub200",
            url="https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
            file="CUB_200_2011.tgz",
            md5="97eceeb196236b17998738112f37df78",
            folder="CUB_200_2011",
        )


@SOURCES.register("cub200", Cub200Config)
def cub200(config: Cub200Config) -> Dataset:
    """CUB-200-2011: photographs of birds, 200 species."""
    layout = Layout(folder=place(config.origin(), data_root(config.root)), expected=EXPECTED)
    classes = dict(layout.pairs("classes.txt"))
    ids = {number: label for label, number in enumerate(classes)}
    images = dict(layout.pairs("images.txt"))
    labels = _column(layout, "image_class_labels.txt", images, ids)
    in_train = _column(layout, "train_test_split.txt", images, {"0": 0, "1": 1})
    train, test = (
        [(f"images/{path}", labels[image]) for image, path in images.items() if in_train[image] == part]
        for part in (1, 0)
    )
    return layout.dataset(train, test, map(_readable, classes.values()), Decoding(size=config.size))


def _column(layout: Layout, file: str, images: dict[str, str], meaning: dict[str, int]) -> dict[str, int]:
    """Return what a list says of every image."""
    column = dict(layout.pairs(file))
    for image in images:
        if image not in column:
            raise layout.wrong(layout.folder / file, f"image {image} of images.txt is not in it")
        if column[image] not in meaning:
            raise layout.wrong(layout.folder / file, f"image {image} has the unknown value `{column[image]}`")
    return {image: meaning[value] for image, value in column.items() if image in images}


def _readable(name: str) -> str:
    return name.partition(".")[2].replace("_", " ") or name
