"""Small data sets in the layouts that their publishers chose."""

import hashlib
import io
import pickle
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def tar_gz(path: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def jpeg(seed: int, *, width: int = 12, height: int = 10) -> bytes:
    """A picture of one colour that the seed decides, so that it survives compression."""
    colour = tuple(int(value) for value in np.random.default_rng(seed).integers(0, 256, 3))
    stream = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(stream, "JPEG", quality=95)
    return stream.getvalue()


class _Old:
    """Pickled as numpy of the time wrote a byte array: the alignment of its type is a number."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __reduce__(self) -> Any:
        from numpy._core.multiarray import _reconstruct

        state = (1, self.array.shape, _OldType(), False, self.array.tobytes())
        return _reconstruct, (np.ndarray, (0,), b"b"), state


class _OldType:
    def __reduce__(self) -> Any:
        return np.dtype, ("u1", 0, 1), (3, "|", None, None, None, -1, -1, 0)


def cifar_batch(key: str, labels: list[int], pixels: np.ndarray) -> bytes:
    """Pickle (n, 32, 32, 3) pixels as the archive does: planes of red, green and blue."""
    planes = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    modern = pickle.dumps({"data": _Old(planes), key: labels}, protocol=2)
    return modern.replace(b"numpy._core.multiarray\n", b"numpy.core.multiarray\n")
