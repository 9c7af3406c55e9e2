"""FGVC-Aircraft 2013b, from its official archive; classes are the variants."""

from dataclasses import dataclass

from metagcd.data import SOURCES
from metagcd.data.archives import Archive, place
from metagcd.data.decode import Decoding
from metagcd.data.listings import Layout, Listing
from metagcd.data.root import data_root
from metagcd.types import Dataset

EXPECTED = (
    "data/variants.txt, data/images_variant_trainval.txt, data/images_variant_test.txt and the folder data/images"
)
BANNER = 20
"""Rows at the bottom of every image that name its owner; the publisher asks for them to be cut off."""


@dataclass(frozen=True, kw_only=True)
class FgvcAircraftConfig:
    """10,000 photographs of aircraft, 100 variants."""

    root: str = ""
    """Folder that holds the archive or what was unpacked from it; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""
    size: int = 256
    """Side of the stored images: 224 / 0.875."""

    @staticmethod
    def origin() -> Archive:
        """Return where the data set comes from."""
        return Archive(
            source="fgvc_aircraft",
            url="https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz",
            file="fgvc-aircraft-2013b.tar.gz",
            md5="d4acdd33327262359767eeaa97a4f732",
            folder="fgvc-aircraft-2013b",
        )


@SOURCES.register("fgvc_aircraft", FgvcAircraftConfig)
def fgvc_aircraft(config: FgvcAircraftConfig) -> Dataset:
    """FGVC-Aircraft: photographs of aircraft, 100 variants."""
    layout = Layout(folder=place(config.origin(), data_root(config.root)), expected=EXPECTED)
    variants = layout.lines("data/variants.txt")
    train, test = (_listing(layout, f"data/images_variant_{part}.txt", variants) for part in ("trainval", "test"))
    return layout.dataset(train, test, variants, Decoding(size=config.size, crop_bottom=BANNER))


def _listing(layout: Layout, file: str, variants: list[str]) -> Listing:
    ids = {variant: label for label, variant in enumerate(variants)}
    pairs = layout.pairs(file)
    for image, variant in pairs:
        if variant not in ids:
            raise layout.wrong(layout.folder / file, f"the variant `{variant}` of image {image} is not in variants.txt")
    return [(f"data/images/{image}.jpg", ids[variant]) for image, variant in pairs]
