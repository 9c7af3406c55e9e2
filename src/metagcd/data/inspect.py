"""What a source holds, before anything is learnt from it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from metagcd.data.duplicates import duplicates
from metagcd.data.files import BLOCK, THREADS, FileImages
from metagcd.data.pictures import UnreadableError, picture_size
from metagcd.data.rows import origin
from metagcd.types import Array, Dataset, Images, Skipped, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class ClassCount:
    """How many images of a class there are in each part."""

    name: str
    train: int
    test: int


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Smallest, median and largest side of the originals, in pixels, and how many are not square."""

    width: tuple[int, int, int]
    height: tuple[int, int, int]
    oblong: int


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a source holds."""

    images: int
    """Images in all parts."""
    classes: tuple[ClassCount, ...]
    """Empty without labels."""
    sizes: Sizes | None
    """Of the originals; None where the source keeps none."""
    skipped: tuple[Skipped, ...]
    duplicates: tuple[tuple[str, ...], ...]
    """Paths of files with the same bytes."""
    across: int
    """How many groups of equal files reach over two classes, or from the training into the test part."""
    fingerprint: str
    note: str = ""


def inspect_dataset(data: Dataset | UnlabelledSet) -> Inspection:
    """Count, measure and compare the images of a source."""
    if isinstance(data, UnlabelledSet):
        files, rows = _files((data.images,))
        groups = duplicates(files.paths.select(rows)) if files else ()
        return Inspection(
            images=len(data.images),
            classes=(),
            sizes=_sizes(files, rows),
            skipped=data.skipped,
            duplicates=_named(files, rows, groups),
            across=0,
            fingerprint=data.images.fingerprint,
        )
    files, rows = _files((data.train, data.test))
    groups = duplicates(files.paths.select(rows)) if files else ()
    kind = [*((0, label) for label in data.train_labels.tolist()), *((1, label) for label in data.test_labels.tolist())]
    return Inspection(
        images=len(data.train) + len(data.test),
        classes=_counts(data),
        sizes=_sizes(files, rows),
        skipped=data.skipped,
        duplicates=_named(files, rows, groups),
        across=sum(len({kind[place] for place in group}) > 1 for group in groups),
        fingerprint=data.fingerprint,
        note=data.note,
    )


def _counts(data: Dataset) -> tuple[ClassCount, ...]:
    number = len(data.class_names)
    train, test = (np.bincount(labels, minlength=number) for labels in (data.train_labels, data.test_labels))
    return tuple(
        ClassCount(name=name, train=int(a), test=int(b))
        for name, a, b in zip(data.class_names, train, test, strict=True)
    )


def _files(parts: Sequence[Images]) -> tuple[FileImages | None, Int[Array, " n"]]:
    """Return the files behind the parts and their rows in them; None if they are not files of one set."""
    origins = [origin(part) for part in parts]
    parent = origins[0][0]
    if not isinstance(parent, FileImages) or any(other is not parent for other, _ in origins):
        return None, np.zeros(0, dtype=np.int64)
    return parent, np.concatenate([rows for _, rows in origins])


def _named(files: FileImages | None, rows: Int[Array, " n"], groups: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(files.paths.full(int(rows[place])) for place in group) for group in groups) if files else ()


def _sizes(files: FileImages | None, rows: Int[Array, " n"]) -> Sizes | None:
    if files is None or not len(rows):
        return None
    paths = files.paths.select(rows)

    def block(start: int) -> list[tuple[int, int]]:
        return [_size(paths.full(row)) for row in range(start, min(start + BLOCK, len(paths)))]

    with ThreadPoolExecutor(THREADS) as pool:
        found = [size for sizes in pool.map(block, range(0, len(paths), BLOCK)) for size in sizes if size[0]]
    if not found:
        return None
    width, height = np.array(found).T
    return Sizes(width=_spread(width), height=_spread(height), oblong=int(np.count_nonzero(width != height)))


def _size(path: str) -> tuple[int, int]:
    try:
        return picture_size(path)
    except UnreadableError:
        return 0, 0


def _spread(values: Int[Array, " n"]) -> tuple[int, int, int]:
    return int(values.min()), round(float(np.median(values))), int(values.max())
