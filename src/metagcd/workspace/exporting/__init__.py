"""What a workspace holds, in the formats of other tools; one file each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metagcd.config import from_mapping
from metagcd.registry import Registry
from metagcd.workspace.catalogue import Catalogue, ImageBlock
from metagcd.workspace.folder import Folder
from metagcd.workspace.learning import Machine
from metagcd.workspace.types import UNSURE


@dataclass(frozen=True, kw_only=True)
class Source:
    """What is exported."""

    catalogue: Catalogue
    folder: Folder
    machine: Machine
    session: int | None = None
    """The session whose images are exported; None: those of all sessions."""

    @property
    def names(self) -> dict[str, str]:
        """Return the present name of every class that has not been merged into another."""
        return {one.id: one.name for one in self.catalogue.classes() if one.status != "merged"}

    @property
    def rejected(self) -> frozenset[str]:
        """Return the classes that were held for none."""
        return frozenset(one.id for one in self.catalogue.classes() if one.status == "rejected")

    def blocks(self) -> Iterator[ImageBlock]:
        """Yield the images."""
        return self.catalogue.images(session=self.session)

    def labelled(self) -> Iterator["Labelled"]:
        """Yield the images one by one, those of rejected classes left out; unsure ones have no class."""
        rejected = self.rejected
        for block in self.blocks():
            columns = zip(
                block.numbers.tolist(),
                block.paths,
                block.classes,
                block.verdicts.tolist(),
                block.confidence.tolist(),
                strict=True,
            )
            for number, path, one, verdict, confidence in columns:
                if one not in rejected:
                    sure = verdict != UNSURE
                    yield Labelled(number, path, one if sure else None, one, confidence)


@dataclass(frozen=True)
class Labelled:
    """An image with its class."""

    number: int
    path: str
    own: str | None
    """Id of its class; None of an unsure image."""
    likeliest: str | None
    confidence: float


EXPORTS: "Registry[Callable[[Any, Source, Path], str]]" = Registry("export format", "metagcd.workspace.exporting")
"""Each takes its settings, what is exported, and where to; it returns what it wrote, in words."""


def export(name: str, source: Source, output: Path, settings: Mapping[str, Any]) -> str:
    """Write the workspace in one format; return what was written, in words."""
    entry = EXPORTS.get(name)
    return entry.target(from_mapping(entry.config(), settings), source, output)
