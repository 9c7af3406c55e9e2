"""Small pictures inside a page, as long as there is room."""

import base64
import io
import os
from dataclasses import dataclass

from metagcd.data.decode import Decoding, decode
from metagcd.data.pictures import UnreadableError
from metagcd.workspace.lines import printable

SIDE = 96
"""Side of a small picture, in pixels."""


@dataclass(frozen=True)
class Picture:
    """A small picture, or the words that stand in its place."""

    path: str
    source: str
    """The picture as a `data:` address; empty where the file is gone, cannot be read, or there is no room."""

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return os.path.basename(self.path)  # noqa: PTH119 - may be no path of this system


@dataclass
class Album:
    """All pictures of a page."""

    room: int
    """Characters that are left."""

    def picture(self, path: str) -> Picture:
        """Return a small picture of a file."""
        source = _address(path) if self.room > 0 else ""
        self.room -= len(source)
        return Picture(printable(path), source if self.room >= 0 else "")


def _address(path: str) -> str:
    from PIL import Image

    try:
        square = decode(path, Decoding(size=SIDE, fit="pad"))
    except (UnreadableError, OSError):
        return ""
    content = io.BytesIO()
    Image.fromarray(square).save(content, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()
