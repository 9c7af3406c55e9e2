"""Where images come from, and how they reach a network."""

from collections.abc import Callable
from typing import Any

from metagcd.errors import InputError
from metagcd.registry import Registry
from metagcd.types import Dataset, UnlabelledSet

SOURCES: Registry[Callable[[Any], Dataset | UnlabelledSet]] = Registry("source", "metagcd.data.sources")


def load(config: Any) -> Dataset:
    """Return the labelled data set that a source's config describes."""
    entry = SOURCES.of(config)
    loaded = entry.target(config)
    if isinstance(loaded, UnlabelledSet):
        raise InputError(f"The source `{entry.name}` has no labels, which are needed here.")
    return loaded


__all__ = ["SOURCES", "Dataset", "load"]
