"""The handwritten digits that come with scikit-learn: the embedded default."""

from dataclasses import dataclass

import numpy as np

from metagcd.data import SOURCES
from metagcd.data.rows import ArrayImages, fingerprint
from metagcd.errors import InputError
from metagcd.types import Dataset


@dataclass(frozen=True, kw_only=True)
class DigitsConfig:
    """1,797 grey images of 8 x 8 pixels, ten classes."""

    test_fraction: float = 0.25
    """Share of every class that is set aside as the test part, by a fixed draw; the data set has no official one."""

    def __post_init__(self) -> None:
        """Refuse a share that leaves a part empty."""
        if not 0 < self.test_fraction < 1:
            raise InputError(f"`test_fraction` must be between 0 and 1; got {self.test_fraction}.")


@SOURCES.register("digits", DigitsConfig)
def digits(config: DigitsConfig) -> Dataset:
    """Handwritten digits, 8 x 8, ten classes, inside scikit-learn."""
    from sklearn.datasets import load_digits

    flat, target = load_digits(return_X_y=True)
    grey = np.round(np.asarray(flat).reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    pixels = np.repeat(grey[..., None], 3, axis=-1)
    labels = np.asarray(target, dtype=np.int64)
    test = _test_rows(labels, config.test_fraction)
    train_images, test_images = ArrayImages(pixels[~test]), ArrayImages(pixels[test])
    return Dataset(
        train=train_images,
        train_labels=labels[~test],
        test=test_images,
        test_labels=labels[test],
        class_names=tuple(str(digit) for digit in range(10)),
        fingerprint=fingerprint(train_images.fingerprint.encode(), test_images.fingerprint.encode(), labels.tobytes()),
        note=f"The digits have no official test part; a fixed {config.test_fraction:.0%} of each class is used.",
    )


def _test_rows(labels: np.ndarray, share: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        test[rows[: round(share * len(rows))]] = True
    return test
