"""From labelled images to a data set: class names in a natural order, and the part set aside for tests."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from metagcd.data.rows import fingerprint, select
from metagcd.errors import InputError
from metagcd.types import Array, Dataset, Images, Skipped

DRAWN = "There is no official test part; {percent:g} % of each class is set aside by a fixed draw."


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """All images of a source with their class ids and, if there are official parts, which are for tests."""

    images: Images
    labels: Int[Array, " n"]
    class_names: tuple[str, ...]
    test: Bool[Array, " n"] | None
    skipped: tuple[Skipped, ...] = ()

    def dataset(self, test_fraction: float) -> Dataset:
        """Return the data set; without an official test part, a share of every class is drawn."""
        test = held_out(self.labels, test_fraction) if self.test is None else self.test
        content = (self.images.fingerprint.encode(), self.labels.astype("<i8").tobytes(), test.tobytes())
        train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
        return Dataset(
            train=select(self.images, train_rows),
            train_labels=self.labels[train_rows],
            test=select(self.images, test_rows),
            test_labels=self.labels[test_rows],
            class_names=self.class_names,
            fingerprint=fingerprint(*content, "\0".join(self.class_names).encode()),
            skipped=self.skipped,
            note=DRAWN.format(percent=100 * test_fraction) if self.test is None else "",
        )


def held_out(labels: Int[Array, " n"], share: float) -> Bool[Array, " n"]:
    """Mark a share of every class by a fixed draw: at least one image of those with two, never the last one.

    What is drawn of a class depends on its id and size alone.
    """
    if not 0 <= share < 1:
        raise InputError(f"`test_fraction` must be in [0, 1); got {share}.")
    test = np.zeros(len(labels), dtype=bool)
    order = np.argsort(labels, kind="stable")
    classes, starts = np.unique(labels[order], return_index=True)
    for label, rows in zip(classes.tolist(), np.split(order, starts[1:]), strict=True):
        count = min(len(rows) - 1, max(1, round(share * len(rows)))) if share else 0
        test[np.random.default_rng([0, label]).permutation(rows)[:count]] = True
    return test


def ids(labels: Sequence[str] | Array) -> tuple[tuple[str, ...], Int[Array, " n"]]:
    """Return the class names in natural order, and the labels as positions among them."""
    values, places = np.unique(np.asarray(labels), return_inverse=True)
    names = [str(value) for value in values.tolist()]
    order = sorted(range(len(names)), key=lambda place: natural(names[place]))
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return tuple(names[place] for place in order), rank[places.reshape(-1)]


def natural(name: str) -> tuple[Any, ...]:
    """Return a key that sorts `class 2` before `class 10`, and is the same only for the same name."""
    pieces = re.split(r"([0-9]+)", name)
    return (*((int(piece), "") if place % 2 else (0, piece.casefold()) for place, piece in enumerate(pieces)), name)


def shown(name: str) -> str:
    """Return a file name as text that can be printed, whatever its bytes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
