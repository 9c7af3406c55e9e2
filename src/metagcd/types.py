"""Value types and shape aliases shared by every layer; imports neither torch nor the rest of the package."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
else:
    Array = np.ndarray


@runtime_checkable
class Images(Protocol):
    """Images that can be read by position: right-side-up RGB of one size, bytes."""

    def __len__(self) -> int:
        """Return how many images there are."""
        ...

    @property
    def fingerprint(self) -> str:
        """Return a short digest of what the images are; equal digests mean equal images in equal order."""
        ...

    def read(self, rows: Int[Array, " b"]) -> UInt8[Array, "b h w 3"]:
        """Return the images at these positions."""
        ...


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A file that could not be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class InputSpec:
    """What an encoder expects of its input images."""

    size: int
    """Side of the square image, in pixels."""
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    """Subtracted per channel, on the scale [0, 1]."""
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)
    """Divided by per channel."""
    interpolation: Literal["nearest", "bilinear", "bicubic"] = "bicubic"
    """How images are brought to size."""
    crop_fraction: float = 0.875
    """Side of the crop over the side of the resized image; the GCD family uses 0.875."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What a source delivers: official training and test parts, class names and a fingerprint of it all."""

    train: Images
    train_labels: Int[Array, " n"]
    test: Images
    test_labels: Int[Array, " m"]
    class_names: tuple[str, ...]
    fingerprint: str
    skipped: tuple[Skipped, ...] = ()
    note: str = ""
    """What a reader of a number made from these images must know, such as a test part that is not the official one."""

    def __post_init__(self) -> None:
        """Refuse labels that do not fit the images or the class names."""
        for part, images, labels in (
            ("training", self.train, self.train_labels),
            ("test", self.test, self.test_labels),
        ):
            _check_lengths(part, images, labels)
            if len(labels) and not 0 <= labels.min() <= labels.max() < len(self.class_names):
                raise InputError(
                    f"The {part} labels run from {labels.min()} to {labels.max()}; "
                    f"with {len(self.class_names)} class names they must lie in [0, {len(self.class_names) - 1}]."
                )


@dataclass(frozen=True, kw_only=True)
class LabelledSet:
    """The images of session 0 with their class ids; no later session has one."""

    images: Images
    labels: Int[Array, " n"]

    def __post_init__(self) -> None:
        """Refuse labels that do not match the images."""
        _check_lengths("labelled", self.images, self.labels)


@dataclass(frozen=True, kw_only=True)
class UnlabelledSet:
    """The images of an online session. There is no label here to leak."""

    images: Images
    skipped: tuple[Skipped, ...] = ()


def _check_lengths(part: str, images: Images, labels: Int[Array, " n"]) -> None:
    if len(images) != len(labels):
        raise InputError(f"There are {len(images)} {part} images but {len(labels)} {part} labels.")
