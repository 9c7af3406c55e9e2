"""Where images come from, and how they reach a network."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from metagcd.errors import InputError
from metagcd.progress import Progress
from metagcd.registry import Registry
from metagcd.types import Dataset, UnlabelledSet

SOURCES: Registry[Callable[..., Dataset | UnlabelledSet]] = Registry("source", "metagcd.data.sources")


def load(config: Any, progress: Progress | None = None) -> Dataset:
    """Return the labelled data set that a source's config describes; a source that may take long tells `progress`."""
    entry = SOURCES.of(config)
    told = {"progress": progress} if progress and "progress" in signature(entry.target).parameters else {}
    loaded = entry.target(config, **told)
    if isinstance(loaded, UnlabelledSet):
        raise InputError(f"The source `{entry.name}` has no labels, which are needed here.")
    return loaded


__all__ = ["SOURCES", "Dataset", "load"]
