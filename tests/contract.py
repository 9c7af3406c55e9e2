"""What every learner is tried on: a few digits, a small encoder, and a config with its long stretches cut short."""

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from metagcd.data.rows import ArrayImages, Rows, select
from metagcd.data.sources.digits import DigitsConfig, digits
from metagcd.engine.checkpoint import Keeper
from metagcd.engine.runtime import Runtime
from metagcd.methods import METHODS
from metagcd.methods.learner import Learner, Setting
from metagcd.models import Encoder, encoder_of
from metagcd.models.encoder import tensors_digest
from metagcd.models.encoders.tiny import TinyConfig
from metagcd.seeds import Seeds
from metagcd.types import Dataset, Images, LabelledSet, UnlabelledSet

KNOWN, PER_CLASS, NOVEL = 4, 10, 1
ENCODER = TinyConfig(image_size=8, patch=4, width=16, depth=2, heads=2, trainable_from=1)
LENGTHS = ("epochs", "updates", "tasks", "episodes", "rounds", "restarts", "iterations")
SIZES = {"hidden": 24, "bottleneck": 8, "width": 32, "batch": 16, "meta_batch": 16}


def shrunk(config: Any) -> Any:
    """Return the config with every count of repetitions at most 2 and every size small, tables below it included."""
    changes = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = shrunk(value)
        elif type(value) is int:
            short = 2 if any(word in field.name for word in LENGTHS) else value
            changes[field.name] = min(value, short, SIZES.get(field.name, value))
    return dataclasses.replace(config, **changes)


def encoder() -> Encoder:
    """Return the same encoder at each call; its first block belongs to the trunk."""
    return encoder_of(ENCODER, Seeds(0))


def new(name: str, *, seed: int = 0, places: Path | None = None, network: Encoder | None = None) -> Learner:
    """Return a learner that was just made; with `places` it keeps its state there after every update."""
    entry = METHODS.get(name)
    runtime = Runtime(keeper=Keeper(places, every=0.0), threads=1)
    setting = Setting(encoder=network or encoder(), seeds=Seeds(seed), runtime=runtime)
    return entry.target(shrunk(entry.config()), setting)


def labelled() -> LabelledSet:
    """Return ten digits of each of four classes."""
    data = _data()
    rows = _of_classes(data.train_labels, range(KNOWN), skip=0, take=PER_CLASS)
    return LabelledSet(images=Watched(select(data.train, rows)), labels=data.train_labels[rows])


def unlabelled() -> UnlabelledSet:
    """Return forty digits of five classes, one of them new."""
    data = _data()
    rows = _of_classes(data.train_labels, range(KNOWN + NOVEL), skip=PER_CLASS, take=8)
    return UnlabelledSet(images=Watched(select(data.train, rows)))


def digits_of(classes: range, *, take: int, skip: int = 0) -> LabelledSet:
    """Return so many training digits of each class, from the place `skip` on."""
    data = _data()
    rows = _of_classes(data.train_labels, classes, skip=skip, take=take)
    return LabelledSet(images=select(data.train, rows), labels=data.train_labels[rows])


def unlabelled_digits(*, known: int, novel: int, skip: int) -> UnlabelledSet:
    """Return so many training digits of each known and of each new class, the known ones from the place `skip` on."""
    data = _data()
    old = _of_classes(data.train_labels, range(KNOWN), skip=skip, take=known)
    new = _of_classes(data.train_labels, range(KNOWN, KNOWN + NOVEL), skip=0, take=novel)
    return UnlabelledSet(images=select(data.train, np.concatenate([old, new])))


def held_out_digits(classes: range) -> tuple[Rows, np.ndarray]:
    """Return all test digits of these classes, and their classes."""
    data = _data()
    rows = np.flatnonzero(np.isin(data.test_labels, classes))
    return select(data.test, rows), data.test_labels[rows]


def probes() -> Rows:
    """Return forty test digits."""
    return select(_data().test, np.arange(40))


class Watched:
    """Images that note every public attribute asked of them, and may be interrupted at a read."""

    def __init__(self, images: Images, *, interrupt_at: int | None = None) -> None:
        self._images = images
        self._interrupt_at = interrupt_at
        self._reads = 0
        self._asked: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            self._asked.add(name)
        return super().__getattribute__(name)

    def __len__(self) -> int:
        return len(self._images)

    @property
    def fingerprint(self) -> str:
        return self._images.fingerprint

    def read(self, rows: np.ndarray) -> np.ndarray:
        if self._reads == self._interrupt_at:
            raise KeyboardInterrupt
        self._reads += 1
        return self._images.read(rows)


def asked(images: Images) -> set[str]:
    """Return the names of all that was asked of watched images."""
    return images._asked


def reads(images: Images) -> int:
    """Return how often watched images were read."""
    return images._reads


def interrupted(images: Images, at: int) -> Watched:
    """Return the same images, watched anew, that raise KeyboardInterrupt at this read."""
    return Watched(images._images, interrupt_at=at)


def name_of(state: dict[str, Tensor]) -> str:
    """Return a digest of every bit of a state."""
    return tensors_digest(state)


@cache
def _data() -> Dataset:
    data = digits(DigitsConfig())
    assert isinstance(data.train, ArrayImages)
    return data


def _of_classes(labels: np.ndarray, classes: range, *, skip: int, take: int) -> np.ndarray:
    chosen = [np.flatnonzero(labels == label)[skip : skip + take] for label in classes]
    return np.random.default_rng(0).permutation(np.concatenate(chosen))
