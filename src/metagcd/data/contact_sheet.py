"""A picture of a data set: a row of thumbnails for each class."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, UInt8

from metagcd.types import Array, Dataset, Images, UnlabelledSet

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont


@dataclass(frozen=True, kw_only=True)
class SheetStyle:
    """How a contact sheet is laid out."""

    thumbnail: int = 64
    """Side of a thumbnail, in pixels."""
    columns: int = 10
    """Thumbnails of a row."""
    rows: int = 200
    """Most rows; further classes are left out, and the last line says how many."""
    caption: int = 160
    """Width of the class names, in pixels."""
    gap: int = 4
    """Space around everything."""


def contact_sheet(data: Dataset | UnlabelledSet, style: SheetStyle) -> bytes:
    """Return a PNG file: per class its name and images evenly spaced over it; the same data give the same bytes."""
    from PIL import Image, ImageDraw, ImageFont

    lines, left_out = _lines(data, style)
    step = style.thumbnail + style.gap
    width = style.caption + style.columns * step + 2 * style.gap
    sheet = Image.new("RGB", (width, style.gap + step * len(lines) + (20 if left_out else 0)), (255, 255, 255))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default()
    for number, (name, images, rows) in enumerate(lines):
        top = style.gap + number * step
        draw.text((style.gap, top), _shortened(name, draw, font, style.caption - style.gap), fill=(0, 0, 0), font=font)
        for column, square in enumerate(_thumbnails(images, rows, style.thumbnail)):
            sheet.paste(Image.fromarray(square), (style.caption + style.gap + column * step, top))
    if left_out:
        draw.text((style.gap, style.gap + step * len(lines)), f"and {left_out} more classes", fill=(0, 0, 0), font=font)
    stream = io.BytesIO()
    sheet.save(stream, "PNG")
    return stream.getvalue()


def _lines(data: Dataset | UnlabelledSet, style: SheetStyle) -> tuple[list[tuple[str, Images, Int[Array, " n"]]], int]:
    if isinstance(data, UnlabelledSet):
        spread = _spread(np.arange(len(data.images)), style.columns * min(style.rows, 10))
        starts = range(0, len(spread), style.columns)
        return [(f"{spread[s] + 1} ...", data.images, spread[s : s + style.columns]) for s in starts], 0
    names = data.class_names[: style.rows]
    order = np.argsort(data.train_labels, kind="stable")
    bounds = np.searchsorted(data.train_labels[order], np.arange(len(names) + 1))
    rows = [_spread(order[bounds[place] : bounds[place + 1]], style.columns) for place in range(len(names))]
    lines = [(name, data.train, some) for name, some in zip(names, rows, strict=True)]
    return lines, len(data.class_names) - len(names)


def _spread(rows: Int[Array, " n"], count: int) -> Int[Array, " m"]:
    """Return at most `count` of the rows, evenly spaced."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(np.int64)]


def _thumbnails(images: Images, rows: Int[Array, " n"], side: int) -> Iterator[UInt8[Array, "side side 3"]]:
    from PIL import Image
    from PIL.Image import Resampling

    # Tiny pictures are enlarged with their pixels visible.
    for square in images.read(rows) if len(rows) else ():
        kind = Resampling.BICUBIC if len(square) > side else Resampling.NEAREST
        yield np.array(Image.fromarray(square).resize((side, side), kind))


def _shortened(name: str, draw: "ImageDraw", font: "Font", width: int) -> str:
    text = " ".join(name.split())
    while len(text) > 1 and draw.textlength(text, font=font) > width:
        text = f"{text[:-2]}…"
    return text
