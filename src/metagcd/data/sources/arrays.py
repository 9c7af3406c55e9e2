"""Images and labels in one NumPy archive."""

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from metagcd.config import reason
from metagcd.data import SOURCES
from metagcd.data.parts import Labelled, ids
from metagcd.data.rows import ArrayImages
from metagcd.errors import InputError
from metagcd.types import Array, Dataset


@dataclass(frozen=True, kw_only=True)
class ArraysConfig:
    """A .npz file with `x_train`, `y_train` and maybe `x_test`, `y_test`; or `x`, `y`; maybe `class_names`.

    Images are bytes of shape (n, h, w, 3), (n, 3, h, w), (n, h, w, 1) or (n, h, w); labels integers or text.
    """

    path: str = ""
    """The .npz file."""
    test_fraction: float = 0.2
    """Share of every class set aside as the test part, by a fixed draw, where there is no `x_test`."""


@SOURCES.register("arrays", ArraysConfig)
def arrays(config: ArraysConfig) -> Dataset:
    """Images and labels in one NumPy .npz file."""
    if not config.path:
        raise InputError("Give the .npz file as `path`.")
    path = Path(config.path).expanduser()
    content = _content(path)
    suffix = "_train" if "x_train" in content else ""
    pixels, labels = _part(path, content, suffix)
    test = None
    if "x_test" in content or "y_test" in content:
        test_pixels, test_labels = _part(path, content, "_test")
        if test_pixels.shape[1:] != pixels.shape[1:]:
            raise InputError(
                f"{path}: `x_test` holds images of {test_pixels.shape[1:3]}, `x{suffix}` of {pixels.shape[1:3]}."
            )
        if (labels.dtype.kind == "U") != (test_labels.dtype.kind == "U"):
            raise InputError(f"{path}: `y{suffix}` is {_found(labels)}, but `y_test` is {_found(test_labels)}.")
        test = np.arange(len(labels) + len(test_labels)) >= len(labels)
        pixels, labels = np.concatenate((pixels, test_pixels)), np.concatenate((labels, test_labels))
    names, places = _classes(path, content, labels)
    return Labelled(images=ArrayImages(pixels), labels=places, class_names=names, test=test).dataset(
        config.test_fraction
    )


def pixels_alone(path: Path) -> UInt8[Array, "n h w 3"]:
    """Return the images of an archive, `x_train` or `x`; nothing else in it is read."""
    found = _content(path, ("x_train", "x"))
    if not found:
        raise InputError(f"{path} has no array `x_train` or `x`.")
    key = next(iter(found))
    return _colour(path, key, found[key])


def _content(path: Path, wanted: tuple[str, ...] = ()) -> dict[str, Array]:
    """Return the arrays: all of them, or the first of those wanted that is there."""
    try:
        # numpy leaves a file open that turns out to be no archive.
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, Mapping):
                keys = [key for key in wanted if key in archive][:1] if wanted else list(archive)
                return {key: archive[key] for key in keys}
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"Cannot read {path} as a .npz file: {reason(error)}.") from error
    except ValueError as error:
        words = "it holds Python objects" if "pickle" in str(error) else str(error)
        raise InputError(f"Cannot read {path} as a .npz file: {words}; save plain arrays with numpy.savez.") from error
    raise InputError(f"{path} holds one array; expected a .npz file with `x_train` and `y_train`.")


def _part(path: Path, content: Mapping[str, Array], suffix: str) -> tuple[UInt8[Array, "n h w 3"], Array]:
    for key in (f"x{suffix}", f"y{suffix}"):
        if key not in content:
            raise InputError(f"{path} has no array `{key}`; it holds: {', '.join(sorted(content)) or 'nothing'}.")
    labels = content[f"y{suffix}"]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iuU":
        raise InputError(f"{path}: `y{suffix}` must be one integer or text per image; got {_found(labels)}.")
    pixels = _colour(path, f"x{suffix}", content[f"x{suffix}"])
    if len(labels) != len(pixels):
        raise InputError(f"{path}: `x{suffix}` holds {len(pixels)} images but `y{suffix}` {len(labels)} labels.")
    if not len(labels):
        raise InputError(f"{path}: `x{suffix}` is empty.")
    return pixels, labels


def _colour(path: Path, key: str, x: Array) -> UInt8[Array, "n h w 3"]:
    if x.dtype != np.uint8:
        hint = " Multiply by 255, round, and convert with `.astype('uint8')`." if x.dtype.kind == "f" else ""
        raise InputError(f"{path}: `{key}` must be bytes (uint8) from 0 to 255; got {_found(x)}.{hint}")
    if x.ndim == 3:
        x = x[..., None]
    elif x.ndim == 4 and x.shape[1] in (1, 3) and x.shape[3] not in (1, 3):
        x = x.transpose(0, 2, 3, 1)
    elif x.ndim == 4 and x.shape[1] == 3 and x.shape[3] in (1, 3):
        raise InputError(f"{path}: the colour axis of `{key}` with shape {x.shape} could be the second or the last.")
    if x.ndim != 4 or x.shape[3] not in (1, 3) or 0 in x.shape[1:]:
        expected = "(n, h, w, 3), (n, 3, h, w), (n, h, w, 1) or (n, h, w)"
        raise InputError(f"{path}: `{key}` must have the shape {expected}; got {x.shape}.")
    return np.ascontiguousarray(np.repeat(x, 3, axis=3) if x.shape[3] == 1 else x)


def _classes(path: Path, content: Mapping[str, Array], labels: Array) -> tuple[tuple[str, ...], Array]:
    given = content.get("class_names")
    if given is None:
        return ids(labels)
    if given.ndim != 1 or given.dtype.kind != "U":
        raise InputError(f"{path}: `class_names` must be a list of text; got {_found(given)}.")
    if labels.dtype.kind == "U":
        if unknown := sorted(set(labels.tolist()) - set(given.tolist())):
            raise InputError(f"{path}: the label {unknown[0]!r} is not in `class_names`.")
        places: dict[Any, int] = {name: place for place, name in enumerate(given.tolist())}
        return tuple(given.tolist()), np.array([places[label] for label in labels.tolist()], dtype=np.int64)
    if labels.min() < 0 or labels.max() >= len(given):
        span = f"{labels.min()} to {labels.max()}"
        raise InputError(f"{path}: labels run from {span}, but `class_names` holds {len(given)} names.")
    return tuple(given.tolist()), labels.astype(np.int64)


def _found(x: Array) -> str:
    return f"{x.dtype} of shape {x.shape}"
