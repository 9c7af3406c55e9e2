"""What the verbs of a workspace return: frozen values, as frames for programs and as HTML for notebooks."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from metagcd.data.contents import Places
from metagcd.types import Array, Skipped
from metagcd.workspace.book import ClassState
from metagcd.workspace.frames import frame, gallery, html_table
from metagcd.workspace.journal import Operation
from metagcd.workspace.reliability import Reliability
from metagcd.workspace.types import VERDICTS, Count

Outcome = Literal["learned", "preview", "same batch", "nothing new"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """What a fit came to."""

    path: str
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    """Images of every class, those held out included."""
    accuracy: float | None
    """Share of the held-out images whose nearest class is the right one; None where none could be held out."""
    reliability: Reliability
    """How far stated confidences can be taken at their word, on images that were held out."""
    facts: dict[str, Any]
    skipped: tuple[Skipped, ...] = ()

    def to_frame(self) -> Any:
        """Return classes and counts as a pandas DataFrame where pandas is installed, else as an Arrow table."""
        return frame({"class": self.classes, "images": self.counts})

    def _repr_html_(self) -> str:
        told = "" if self.accuracy is None else f"<p>Right on held-out images: {100 * self.accuracy:.1f} %</p>"
        return told + html_table(("class", "images"), zip(self.classes, self.counts, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """What was decided of images, one by one, in the order in which they were given."""

    paths: Places
    ids: tuple[str, ...]
    """Ids of the classes that `place` counts."""
    names: tuple[str, ...]
    """What these are called."""
    place: Int[Array, " n"]
    """The class of each image, of an unsure one the likeliest; -1 where there is no class at all."""
    verdict: Int[Array, " n"]
    """0 known, 1 unsure, 2 new: of no class that was there before."""
    confidence: Float[Array, " n"]
    """Calibrated probability that the class is right."""
    novelty: Float[Array, " n"]
    """Calibrated probability of being of no class that was there before."""

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.place)

    @property
    def classes(self) -> tuple[str | None, ...]:
        """Return the id of every image's class."""
        return tuple(self.ids[place] if place >= 0 else None for place in self.place.tolist())

    def to_frame(self) -> Any:
        """Return a line per image as a pandas DataFrame where pandas is installed, else as an Arrow table."""
        import pyarrow as pa

        place = pa.array(np.where(self.place < 0, 0, self.place), mask=self.place < 0)
        return frame(
            {
                "path": list[str](self.paths),
                "class": pa.DictionaryArray.from_arrays(place, pa.array(self.ids, pa.string())),
                "name": pa.DictionaryArray.from_arrays(place, pa.array(self.names, pa.string())),
                "verdict": pa.DictionaryArray.from_arrays(pa.array(self.verdict), pa.array(VERDICTS)),
                "confidence": self.confidence,
                "novelty": self.novelty,
            }
        )

    def _repr_html_(self) -> str:
        shown = range(min(len(self), 20))
        lines = (
            (
                self.paths[row],
                self.names[self.place[row]] if self.place[row] >= 0 else "",
                VERDICTS[self.verdict[row]],
                f"{self.confidence[row]:.2f}",
                f"{self.novelty[row]:.2f}",
            )
            for row in shown
        )
        more = f"<p>{len(self)} images in all</p>" if len(self) > len(shown) else ""
        return html_table(("path", "class", "verdict", "confidence", "novelty"), lines) + more


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """A class that a session brought."""

    id: str
    images: int
    nearest: str | None
    """Id of the nearest class that was there before."""
    similarity: float
    """Cosine between both means."""
    cohesion: float
    """How firmly it holds together, in [0, 1]."""
    representatives: tuple[str, ...]
    """Paths of typical images, best first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Discovery:
    """What a batch brought."""

    outcome: Outcome
    """`learned`; `preview`: nothing was changed; `same batch`: it was a session before; `nothing new`: every image was
    met before."""
    session: int | None
    """The session it is, or was; None where it is none."""
    found: tuple[Found, ...]
    count: Count
    """How many new classes, and the range that repetitions gave."""
    images: Decisions
    facts: dict[str, Any]
    """Images given, seen before, known, unsure and new ones, those of rejected classes, seconds."""
    skipped: tuple[Skipped, ...] = ()

    def to_frame(self) -> Any:
        """Return a line per image as a pandas DataFrame where pandas is installed, else as an Arrow table."""
        return self.images.to_frame()

    def _repr_html_(self) -> str:
        parts = [html_table(("what", "how many"), ((name, value) for name, value in self.facts.items()))]
        for one in self.found:
            words = f"{one.id}: {one.images} images, nearest {one.nearest} ({one.similarity:.2f})"
            parts.append(f"<p>{words}, cohesion {one.cohesion:.2f}</p>{gallery(one.representatives)}")
        return "".join(parts)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassList:
    """The classes of a workspace, merged ones left out."""

    classes: tuple[ClassState, ...]
    images: tuple[int, ...]
    """Images that each class has, unsure ones left out."""
    galleries: tuple[tuple[str, ...], ...]
    """Paths of typical images of each."""

    def __len__(self) -> int:
        """Return how many classes there are."""
        return len(self.classes)

    @property
    def ids(self) -> tuple[str, ...]:
        """Return their ids."""
        return tuple(one.id for one in self.classes)

    def to_frame(self) -> Any:
        """Return a line per class as a pandas DataFrame where pandas is installed, else as an Arrow table."""
        names = ("id", "name", "known", "status", "born", "parent", "nearest", "similarity", "cohesion")
        columns = {name: [getattr(one, name) for one in self.classes] for name in names}
        return frame({**columns, "images": self.images})

    def _repr_html_(self) -> str:
        parts = list[str]()
        for one, images, paths in zip(self.classes, self.images, self.galleries, strict=True):
            kind = "taught" if one.known else f"session {one.born}"
            row = (one.id, one.name, kind, one.status, images)
            parts.append(html_table(("id", "name", "from", "status", "images"), [row]) + gallery(paths))
        return "".join(parts)


@dataclass(frozen=True, kw_only=True)
class History:
    """All that was ever done to a workspace."""

    operations: tuple[Operation, ...]

    def to_frame(self) -> Any:
        """Return a line per command as a pandas DataFrame where pandas is installed, else as an Arrow table."""
        names = ("number", "time", "kind", "words", "undone_by")
        return frame({name: [getattr(one, name) for one in self.operations] for name in names})

    def _repr_html_(self) -> str:
        lines = ((one.number, one.time, one.words, one.undone_by or "") for one in self.operations)
        return html_table(("number", "time", "what", "undone by"), lines)
