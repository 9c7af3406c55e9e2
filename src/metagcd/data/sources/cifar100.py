"""CIFAR100, from its official archive."""

from dataclasses import dataclass

from metagcd.data import SOURCES
from metagcd.data.archives import Archive
from metagcd.data.cifar import cifar_archive, read_cifar
from metagcd.data.root import data_root
from metagcd.types import Dataset


@dataclass(frozen=True, kw_only=True)
class Cifar100Config:
    """60,000 colour images of 32 x 32 pixels, 100 (fine) classes."""

    root: str = ""
    """Folder that holds the archive or what was unpacked from it; empty: METAGCD_DATA, else ~/.cache/metagcd/data."""

    @staticmethod
    def origin() -> Archive:
        """Return where the data set comes from."""
        from torchvision.datasets import CIFAR100

        return cifar_archive("cifar100", CIFAR100)


@SOURCES.register("cifar100", Cifar100Config)
def cifar100(config: Cifar100Config) -> Dataset:
    """CIFAR100: photographs, 32 x 32, 100 classes."""
    from torchvision.datasets import CIFAR100

    return read_cifar("cifar100", CIFAR100, data_root(config.root))
