"""CIFAR10, from its official archive."""

from dataclasses import dataclass

from metagcd.data import SOURCES
from metagcd.data.archives import Archive
from metagcd.data.cifar import cifar_archive, read_cifar
from metagcd.data.root import data_root
from metagcd.types import Dataset


@dataclass(frozen=True, kw_only=True)
class Cifar10Config:
    """60,000 colour images of 32 x 32 pixels, 10 classes."""

    root: str = ""
    """Folder that holds the archive or what was unpacked from it; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""

    @staticmethod
    def origin() -> Archive:
        """Return where the data set comes from."""
        from torchvision.datasets import CIFAR10

        return cifar_archive("cifar10", CIFAR10)


@SOURCES.register("cifar10", Cifar10Config)
def cifar10(config: Cifar10Config) -> Dataset:
    """CIFAR10: photographs, 32 x 32, 10 classes."""
    from torchvision.datasets import CIFAR10

    return read_cifar("cifar10", CIFAR10, data_root(config.root))
