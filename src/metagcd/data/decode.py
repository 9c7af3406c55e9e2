"""From a picture file to right-side-up RGB bytes of one square size."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.data.pictures import PIXEL_CEILING, Source, UnreadableError, opened
from metagcd.types import Array

if TYPE_CHECKING:
    from PIL.Image import Image

LARGE = 50_000_000
"""Pictures with more pixels than this are decoded one at a time: each may take two gigabytes."""

_ONE_LARGE = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How a picture becomes a square.

    Note: the usual order for pictures that are not square (resize the short side, then crop at random from the whole)
    can show a network the ends of a long picture. Here every picture is one stored square, so that random crops are
    taken from its middle square (`crop`), from all of it out of proportion (`squash`), or with bars (`pad`).
    """

    size: int = 224
    """Side of the square, in pixels."""
    fit: Literal["crop", "squash", "pad"] = "crop"
    """`crop`: the middle square; `squash`: all of it, out of proportion; `pad`: all of it, with bars."""
    background: tuple[int, int, int] = (255, 255, 255)
    """Colour under transparent pixels and of the bars."""
    crop_bottom: int = 0
    """Rows cut off at the bottom of the upright picture, such as a banner with the owner's name."""
    pixel_limit: int = PIXEL_CEILING
    """Pictures with more pixels than this are refused."""


def decode(source: Source, how: Decoding) -> UInt8[Array, "size size 3"]:
    """Return the first frame as an upright square of RGB bytes, or raise `UnreadableError`.

    Guaranteed for every mode Pillow reads: 16-bit grey is scaled (not clipped), transparency lies on the background.
    JPEG files of many times the size are decoded at a fraction of theirs, never below twice the size asked for.
    """
    with opened(source, pixel_limit=how.pixel_limit) as image:
        height = image.size[1]
        with _ONE_LARGE if image.size[0] * height > LARGE else nullcontext():
            image.draft(None, (2 * how.size, 2 * how.size))
            rows_cut = how.crop_bottom * image.size[1] / height
            return _square(_eight_bit(_upright(image)), how, rows_cut=rows_cut)


def decode_rows(
    one: Callable[[int], UInt8[Array, "size size 3"]], rows: Int[Array, " b"], *, size: int
) -> UInt8[Array, "b size size 3"]:
    """Decode rows in a pool of threads (Pillow lets them run side by side); the order is kept."""
    pixels = np.empty((len(rows), size, size, 3), dtype=np.uint8)
    if len(rows) < 2:
        for place, row in enumerate(rows.tolist()):
            pixels[place] = one(row)
        return pixels
    with ThreadPoolExecutor(min(len(rows), os.cpu_count() or 1, 16)) as pool:
        for place, square in enumerate(pool.map(one, rows.tolist())):
            pixels[place] = square
    return pixels


def _upright(image: "Image") -> "Image":
    from PIL import ExifTags
    from PIL.Image import Transpose

    image.load()
    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    try:
        turn = turns.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # Broken metadata does not make the picture unreadable, and may fail in any way.
        return image
    return image if turn is None else image.transpose(turn)


def _eight_bit(image: "Image") -> "Image":
    """Return the picture as L, RGB or RGBA: the modes that can be resampled."""
    from PIL.Image import fromarray

    if image.mode.startswith("I") or image.mode == "F":
        return fromarray(_scaled(np.asarray(image)))
    if image.mode == "LAB":
        from PIL.ImageCms import createProfile, profileToProfile

        return profileToProfile(image, createProfile("LAB"), createProfile("sRGB"), outputMode="RGB") or image
    if image.mode in ("LA", "La", "PA", "RGBa", "RGBA") or "transparency" in image.info:
        return image.convert("RGBA")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _scaled(values: Array) -> UInt8[Array, "h w"]:
    """Scale 16-bit greys (also those stored in 32 bits) and floats in [0, 1] to bytes."""
    top = 65535 if values.dtype.kind in "iu" else 1
    low, high = values.min(), values.max()
    if not 0 <= low <= high <= top:
        raise UnreadableError(f"grey values from {low:g} to {high:g} have no known scale; expected 0 to {top}")
    if top == 65535:
        scaled = values.astype(np.uint32)
        scaled += 128
        scaled //= 257  # v * 255 / 65535, rounded
        return scaled.astype(np.uint8)
    return np.round(values * 255).astype(np.uint8)


def _square(image: "Image", how: Decoding, *, rows_cut: float) -> UInt8[Array, "size size 3"]:
    from PIL.Image import Resampling, new

    width, height = image.size[0], max(1.0, image.size[1] - rows_cut)
    box, inner = _geometry(width, height, how)
    resized = image.resize(inner, Resampling.BICUBIC, box=box)
    if inner == (how.size, how.size) and resized.mode != "RGBA":
        return np.array(resized.convert("RGB"))
    ground = new("RGB", (how.size, how.size), how.background)
    corner = ((how.size - inner[0]) // 2, (how.size - inner[1]) // 2)
    ground.paste(resized, corner, resized if resized.mode == "RGBA" else None)
    return np.array(ground)


def _geometry(width: int, height: float, how: Decoding) -> tuple[tuple[float, float, float, float], tuple[int, int]]:
    """Return the box that is kept of the picture, and the size it gets inside the square."""
    if how.fit == "crop":
        side = min(width, height)
        left, top = (width - side) / 2, (height - side) / 2
        return (left, top, left + side, top + side), (how.size, how.size)
    whole = (0.0, 0.0, float(width), float(height))
    if how.fit == "squash":
        return whole, (how.size, how.size)
    scale = how.size / max(width, height)
    return whole, (max(1, round(width * scale)), max(1, round(height * scale)))
