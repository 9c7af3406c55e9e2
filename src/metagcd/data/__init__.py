"""Where images come from, and how they reach a network."""

from metagcd.registry import Registry
from metagcd.types import Dataset

SOURCES: Registry[object] = Registry("source", "metagcd.data.sources")

__all__ = ["SOURCES", "Dataset"]
