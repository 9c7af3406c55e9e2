"""The CIFAR archives, read and checked by torchvision."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metagcd.data.archives import Archive, place
from metagcd.data.rows import ArrayImages, fingerprint
from metagcd.errors import InputError
from metagcd.types import Dataset

if TYPE_CHECKING:
    import torchvision


def cifar_archive(source: str, kind: "type[torchvision.datasets.CIFAR10]") -> Archive:
    """Return where torchvision says that an archive is."""
    return Archive(source=source, url=kind.url, file=kind.filename, md5=kind.tgz_md5, folder=kind.base_folder)


def read_cifar(source: str, kind: "type[torchvision.datasets.CIFAR10]", root: Path) -> Dataset:
    """Return both official parts, in the order of the archive; files with another checksum are refused."""
    folder = place(cifar_archive(source, kind), root)
    try:
        train, test = (_open(kind, folder.parent, train=part) for part in (True, False))
    except RuntimeError as error:
        raise InputError(
            f"{folder} lacks files, or they are not the official ones; delete it and run `metagcd data get {source}`."
        ) from error
    train_images, test_images = (ArrayImages(np.ascontiguousarray(part.data)) for part in (train, test))
    train_labels, test_labels = (np.asarray(part.targets, dtype=np.int64) for part in (train, test))
    digests = train_images.fingerprint.encode(), test_images.fingerprint.encode()
    return Dataset(
        train=train_images,
        train_labels=train_labels,
        test=test_images,
        test_labels=test_labels,
        class_names=tuple(train.classes),
        fingerprint=fingerprint(*digests, train_labels.tobytes(), test_labels.tobytes()),
    )


def _open(kind: "type[torchvision.datasets.CIFAR10]", root: Path, *, train: bool) -> "torchvision.datasets.CIFAR10":
    with warnings.catch_warnings():
        # numpy 2.4.0 to 2.4.4 warn of pickles as old as these; the arrays come out the same.
        warnings.filterwarnings("ignore", message=r".*align should be passed")
        return kind(root, train=train, download=False)
