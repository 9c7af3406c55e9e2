"""Odd picture files, really written to disk: each with what must come of it."""

import io
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms

SIDE = 32
ORIENTATION = 0x0112
COLOURS = ((220, 30, 30), (30, 180, 40), (40, 50, 210), (240, 230, 60))
"""Of the quarters: top left, top right, bottom left, bottom right. No turn or reflection maps them to themselves."""


@dataclass(frozen=True)
class Odd:
    """A readable file and the colours of its four quarters, to within `tolerance`."""

    name: str
    content: bytes
    quarters: tuple[tuple[int, int, int], ...] = COLOURS
    tolerance: int = 2


def picture(side: int = SIDE, *, colours: tuple[tuple[int, int, int], ...] = COLOURS) -> np.ndarray:
    """Return a square with four colours."""
    pixels = np.empty((side, side, 3), dtype=np.uint8)
    half = side // 2
    pixels[:half, :half], pixels[:half, half:], pixels[half:, :half], pixels[half:, half:] = colours
    return pixels


def encode(image: Image.Image | np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    """Return the bytes of a file."""
    stream = io.BytesIO()
    (Image.fromarray(image) if isinstance(image, np.ndarray) else image).save(stream, kind, **options)
    return stream.getvalue()


def quarters(pixels: np.ndarray) -> np.ndarray:
    """Return the colour at the middle of each quarter."""
    quarter = pixels.shape[0] // 4
    low, high = quarter, 3 * quarter
    return pixels[[low, low, high, high], [low, high, low, high]].astype(int)


def turned(orientation: int) -> np.ndarray:
    """Return pixels that, turned as the tag says, are `picture()`."""
    p = picture()
    stored = {
        1: p,
        2: p[:, ::-1],
        3: p[::-1, ::-1],
        4: p[::-1],
        5: p.transpose(1, 0, 2),
        6: p.transpose(1, 0, 2)[::-1],
        7: p.transpose(1, 0, 2)[::-1, ::-1],
        8: p.transpose(1, 0, 2)[:, ::-1],
    }
    return np.ascontiguousarray(stored[orientation])


def greys(*values: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((value,) * 3 for value in values)  # type: ignore[misc]


def readable() -> list[Odd]:
    """Return every kind of odd but readable file."""
    grey = picture(colours=greys(0, 80, 160, 255))[..., 0]
    image = Image.fromarray(picture())
    first, other = image.quantize(4), Image.new("P", (SIDE, SIDE))
    return [
        Odd("plain.png", encode(image)),
        Odd("plain.jpg", encode(image, "JPEG", quality=95, subsampling=0), tolerance=6),
        Odd("cmyk.jpg", encode(image.convert("CMYK"), "JPEG", quality=95), tolerance=6),
        Odd("cmyk.tif", encode(image.convert("CMYK"), "TIFF")),
        Odd("ycbcr.tif", encode(image.convert("YCbCr"), "TIFF"), tolerance=4),
        Odd("lab.tif", encode(_lab(image), "TIFF"), tolerance=12),
        Odd("grey16.png", encode(grey.astype(np.uint16) * 257), greys(0, 80, 160, 255), 0),
        Odd("grey16-dark.png", encode(grey.astype(np.uint16)), greys(0, 0, 1, 1), 0),
        Odd("grey16.tif", encode(grey.astype(np.uint16) * 257, "TIFF"), greys(0, 80, 160, 255), 0),
        Odd("grey32.tif", encode(grey.astype(np.int32) * 257, "TIFF"), greys(0, 80, 160, 255), 0),
        Odd("float.tif", encode(grey.astype(np.float32) / 255, "TIFF"), greys(0, 80, 160, 255), 0),
        Odd("grey.png", encode(grey), greys(0, 80, 160, 255), 0),
        Odd("bits.png", encode(Image.fromarray(grey > 100)), greys(0, 0, 255, 255), 0),
        Odd("palette.png", encode(first)),
        Odd("palette-alpha.png", _palette_with_alpha(), (*COLOURS[:3], (255, 255, 255))),
        Odd("rgba.png", encode(_with_alpha(0)), (*COLOURS[:3], (255, 255, 255))),
        Odd("rgba-half.png", encode(_with_alpha(128)), (*COLOURS[:3], (247, 242, 157))),
        Odd("grey-alpha.png", encode(Image.fromarray(grey).convert("LA")), greys(0, 80, 160, 255)),
        Odd("key-colour.png", encode(image, transparency=COLOURS[3]), (*COLOURS[:3], (255, 255, 255))),
        Odd("animated.gif", encode(first, "GIF", save_all=True, append_images=[other, other]), tolerance=6),
        Odd("animated.webp", encode(image, "WEBP", save_all=True, append_images=[other], lossless=True)),
        Odd("animated.png", encode(image, save_all=True, append_images=[Image.new("RGB", image.size)])),
        Odd("one.png", encode(np.full((1, 1, 3), 7, np.uint8)), greys(7, 7, 7, 7)),
        Odd("really-a-png.jpg", encode(image)),
        Odd("really-a-jpeg.txt", encode(image, "JPEG", quality=95, subsampling=0), tolerance=6),
        Odd("no-extension", encode(image, "BMP")),
        Odd(
            "broken-exif.jpg",
            encode(image, "JPEG", quality=95, subsampling=0, exif=b"Exif\0\0II*\0\xff\xff"),
            tolerance=6,
        ),
    ]


def oriented() -> list[Odd]:
    """Return the eight orientations in JPEG, PNG and TIFF."""
    return [odd for orientation in range(1, 9) for odd in _oriented(orientation)]


def unreadable() -> dict[str, tuple[bytes, str]]:
    """Return name -> content and words of the reason it is refused for."""
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return {
        "truncated.jpg": (encode(noise, "JPEG")[:1500], "truncated"),
        "truncated.png": (encode(noise)[:1500], "truncated"),
        "header-only.png": (encode(noise)[:20], "truncated"),
        "empty.jpg": (b"", "an empty file"),
        "text.jpg": (b"this is not a picture\n", "not an image"),
        "postscript.jpg": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "not an image"),
        "bomb.png": (bomb(60_000, 60_000), "more than 1000000000 pixels"),
        "large.png": (bomb(30_000, 20_000), "30000 x 20000 pixels are more than the limit"),
        "liar.png": (bomb(2_000, 2_000), "truncated"),
        "floats.tif": (encode(np.linspace(-5, 900, 64, dtype=np.float32).reshape(8, 8), "TIFF"), "no known scale"),
    }


def bomb(width: int, height: int) -> bytes:
    """Return a PNG file of a few bytes that claims to be of this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b""))
    parts = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def odd_names() -> list[str]:
    """Return file names that the system allows and careless programs do not."""
    return [
        "with space.png",
        "quote'\".png",
        "new\nline.png",
        "ümläut-日本.png",
        "comma, semi;.png",
        "-dash.png",
        "100%d.png",
        os.fsdecode(b"latin-\xe9.png"),
    ]


def write(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files into a folder, with the folders they need."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def plain(number: int, side: int = 8) -> bytes:
    """Return a small picture that differs from that of every other number."""
    return encode(np.random.default_rng(number).integers(0, 256, (side, side, 3), dtype=np.uint8))


def _oriented(orientation: int) -> list[Odd]:
    image = Image.fromarray(turned(orientation))
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    jpeg = encode(image, "JPEG", quality=95, subsampling=0, exif=exif)
    return [
        Odd(f"turned-{orientation}.jpg", jpeg, tolerance=6),
        Odd(f"turned-{orientation}.png", encode(image, exif=exif)),
        Odd(f"turned-{orientation}.tif", encode(image, "TIFF", exif=exif)),
    ]


def _lab(image: Image.Image) -> Image.Image:
    profiles = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    return ImageCms.profileToProfile(image, *profiles, outputMode="LAB") or image


def _with_alpha(alpha: int) -> np.ndarray:
    pixels = np.dstack((picture(), np.full((SIDE, SIDE), 255, np.uint8)))
    pixels[SIDE // 2 :, SIDE // 2 :, 3] = alpha
    return pixels


def _palette_with_alpha() -> bytes:
    index = np.array([[0, 1], [2, 3]], dtype=np.uint8).repeat(SIDE // 2, 0).repeat(SIDE // 2, 1)
    image = Image.fromarray(index).convert("P")
    image.putpalette([value for colour in COLOURS for value in colour])
    return encode(image, transparency=bytes((255, 255, 255, 0)))
