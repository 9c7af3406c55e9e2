"""Data sets of picture files whose parts and labels stand in lists."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from metagcd.config import reason
from metagcd.data.decode import Decoding
from metagcd.data.files import FileImages, Paths
from metagcd.data.rows import fingerprint
from metagcd.errors import InputError
from metagcd.types import Dataset

Listing: TypeAlias = list[tuple[str, int]]
"""Paths below a folder, and their class ids."""

PICTURES = (".jpeg", ".jpg", ".png")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A folder as its publisher laid it out."""

    folder: Path
    expected: str
    """Its files in a few words, for messages."""

    def wrong(self, path: Path, what: str) -> InputError:
        """Say what is wrong with a file, and what the folder should hold."""
        return InputError(f"{path}: {what}. Expected in {self.folder}: {self.expected}.")

    def lines(self, path: str) -> list[str]:
        """Return the lines of a list, without those that are empty."""
        try:
            text = (self.folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise self.wrong(self.folder / path, reason(error)) from error
        return [line.strip() for line in text.splitlines() if line.strip()]

    def pairs(self, path: str) -> list[tuple[str, str]]:
        """Return the first word of every line, and the rest."""
        split = [line.split(maxsplit=1) for line in self.lines(path)]
        for place, words in enumerate(split, start=1):
            if len(words) != 2:
                raise self.wrong(self.folder / path, f"entry {place} has one word in place of two")
        return [(first, rest) for first, rest in split]

    def folders(self, path: str) -> list[str]:
        """Return the names of the folders inside a folder, sorted."""
        with os.scandir(self._is_folder(path)) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))

    def pictures(self, path: str) -> list[str]:
        """Return the paths of the pictures inside a folder, sorted by name."""
        with os.scandir(self._is_folder(path)) as entries:
            found = sorted(f"{path}/{entry.name}" for entry in entries if _is_picture(entry.name))
        if not found:
            raise self.wrong(self.folder / path, "there are no pictures in it")
        return found

    def dataset(self, train: Listing, test: Listing, class_names: Iterable[str], how: Decoding) -> Dataset:
        """Return the two parts, after seeing to it that every file is there."""
        images = [self._images(part, listing, how) for part, listing in (("training", train), ("test", test))]
        labels = [np.array([label for _, label in listing], dtype=np.int64) for listing in (train, test)]
        return Dataset(
            train=images[0],
            train_labels=labels[0],
            test=images[1],
            test_labels=labels[1],
            class_names=tuple(class_names),
            fingerprint=fingerprint(
                *(part.fingerprint.encode() for part in images), *(ids.tobytes() for ids in labels)
            ),
        )

    def _images(self, part: str, listing: Listing, how: Decoding) -> FileImages:
        if not listing:
            raise self.wrong(self.folder, f"there are no {part} images")
        absent = [path for path, _ in listing if not (self.folder / path).is_file()]
        if absent:
            raise self.wrong(
                self.folder / absent[0], f"no such file; so for {len(absent)} of {len(listing)} {part} images"
            )
        return FileImages(Paths.of(str(self.folder), (path for path, _ in listing)), how)

    def _is_folder(self, path: str) -> Path:
        if not (self.folder / path).is_dir():
            raise self.wrong(self.folder / path, "no such folder")
        return self.folder / path


def unique_names(names: Iterable[str], ids: Iterable[str]) -> tuple[str, ...]:
    """Return readable names, with the id behind those that several classes share."""
    pairs = list(zip(names, ids, strict=True))
    count = Counter(name for name, _ in pairs)
    return tuple(f"{name} ({identity})" if count[name] > 1 else name for name, identity in pairs)


def _is_picture(name: str) -> bool:
    return name.lower().endswith(PICTURES) and not name.startswith(".")
