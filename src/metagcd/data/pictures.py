"""Open picture files of any kind, and say in a few words why one cannot be used."""

# A Path costs more than the call it stands for, a million times over.
# ruff: noqa: PTH114, PTH116, PTH123

import errno
import io
import os
import stat
import threading
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from PIL.Image import Image

Source: TypeAlias = bytes | str | os.PathLike[str]
"""The content of a file, or its path. A path may hold surrogate escapes: any name the system allows."""

FORMATS = (
    "JPEG",
    "PNG",
    "WEBP",
    "GIF",
    "BMP",
    "TIFF",
    "MPO",
    "AVIF",
    "JPEG2000",
    "PPM",
    "ICO",
    "DIB",
    "PCX",
    "SGI",
    "DDS",
)
"""Formats told by their content. Left out: those without a signature (TGA) and those that run programs (EPS, WMF)."""

PIXEL_CEILING = 500_000_000
"""Most pixels of one picture: 20,000 x 20,000 and some more. RGB takes four bytes a pixel in Pillow."""

_WORDS = {
    errno.ENOENT: "there is no such file",
    errno.EISDIR: "a folder, not a file",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "a link that leads back to itself",
    errno.ENOTDIR: "there is no such file",
    errno.ENAMETOOLONG: "its name is too long",
}


class UnreadableError(Exception):
    """A file that cannot be used as a picture; `reason` says why in a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@contextmanager
def opened(source: Source, *, pixel_limit: int = PIXEL_CEILING) -> "Generator[Image]":
    """Open a picture by its content, whatever its name; whatever goes wrong inside is raised as `UnreadableError`."""
    from PIL import Image

    try:
        with _PILLOW, ExitStack() as stack:
            stream = io.BytesIO(source) if isinstance(source, bytes) else stack.enter_context(_file(source))
            if not stream.read(1):
                raise UnreadableError("an empty file")
            image = stack.enter_context(Image.open(stream, formats=_formats()))
            _check_size(image.size, pixel_limit)
            yield image
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError(_reason(error, source)) from error


def picture_size(source: Source, *, pixel_limit: int = PIXEL_CEILING) -> tuple[int, int]:
    """Return width and height as stored, from the header alone."""
    with opened(source, pixel_limit=pixel_limit) as image:
        return image.size


class _Pillow:
    """Pillow's process-wide settings as needed while any thread decodes, and as they were after the last one.

    Warnings about odd metadata are not for the reader of a picture, and Pillow's own pixel limit makes way for ours.
    Filters of warnings belong to the process, so that threads may not each save and restore them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._restore = ExitStack()

    def __enter__(self) -> None:
        from PIL import Image

        with self._lock:
            self._users += 1
            if self._users == 1:
                self._restore.enter_context(warnings.catch_warnings())
                warnings.filterwarnings("ignore", module=r"PIL\.")
                self._restore.callback(setattr, Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS)
                Image.MAX_IMAGE_PIXELS = PIXEL_CEILING

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._restore.close()


_PILLOW = _Pillow()


@cache
def _formats() -> tuple[str, ...]:
    from PIL import Image

    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _file(path: str | os.PathLike[str]) -> io.BufferedReader:
    # Opening a pipe would wait for somebody to write into it.
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise UnreadableError("a folder, not a file")
    if not stat.S_ISREG(mode):
        raise UnreadableError("not a regular file")
    stream = open(path, "rb")  # noqa: SIM115 - the caller closes it
    if os.fstat(stream.fileno()).st_size == 0:
        stream.close()
        raise UnreadableError("an empty file")
    return stream


def _check_size(size: tuple[int, int], pixel_limit: int) -> None:
    if size[0] * size[1] > pixel_limit:
        raise UnreadableError(f"{size[0]} x {size[1]} pixels are more than the limit of {pixel_limit}")


def _reason(error: Exception, source: Source) -> str:
    from PIL import Image, UnidentifiedImageError

    words = " ".join(str(error).split())
    if isinstance(error, UnidentifiedImageError):
        return "not an image of a known format"
    if isinstance(error, Image.DecompressionBombError):
        return f"more than {2 * PIXEL_CEILING} pixels"  # Pillow refuses at twice what it warns of
    if isinstance(error, OSError) and error.errno == errno.ENOENT and not isinstance(source, bytes):
        return "a link to nothing" if os.path.islink(source) else _WORDS[errno.ENOENT]
    if isinstance(error, OSError) and error.errno is not None:
        return _WORDS.get(error.errno, error.strerror or words)
    if isinstance(error, MemoryError):
        return "too large for the memory"
    if "truncated" in words.lower() or isinstance(error, EOFError):
        return "the image is truncated"
    return f"a damaged image ({words[:80] or type(error).__name__})"
