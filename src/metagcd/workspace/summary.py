"""What the report tells of a workspace, read from the catalogue and the files of features."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from metagcd.errors import InputError
from metagcd.experiment.sample import DIMENSIONS, IMAGES, balanced, principal
from metagcd.report.records import Sample
from metagcd.types import Array
from metagcd.workspace import journal
from metagcd.workspace.book import ClassState
from metagcd.workspace.catalogue import Catalogue, SessionRecord
from metagcd.workspace.course import Moment, course
from metagcd.workspace.folder import Folder
from metagcd.workspace.journal import Operation
from metagcd.workspace.judge import Judge
from metagcd.workspace.reliability import Reliability
from metagcd.workspace.types import UNSURE, VERDICTS


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """A class and its images."""

    state: ClassState
    nearest: str
    """Present name of the class it was nearest to when it was discovered; empty for taught ones."""
    here: int
    """Images of the session that is told of."""
    images: int
    """Images of all sessions."""
    shown: tuple[str, ...]
    """Paths of pictures to show, best first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Told:
    """All that the report tells."""

    session: SessionRecord
    sessions: tuple[SessionRecord, ...]
    brought: tuple[Seen, ...]
    """Classes that the session brought."""
    earlier: tuple[Seen, ...]
    """Classes that were discovered before."""
    taught: tuple[Seen, ...]
    confidence: dict[str, Float[Array, " _"]]
    """Of the session's images, by verdict."""
    novelty: dict[str, Float[Array, " _"]]
    doubtful: tuple[tuple[str, str, float], ...]
    """Unsure images: path, likeliest class, confidence."""
    sample: Sample | None
    """Features of the session's images for a map; class numbers are places in `names`, the taught ones first."""
    names: tuple[str, ...]
    known: int
    reliability: Reliability
    course: tuple[Moment, ...]
    operations: tuple[Operation, ...]


DOUBTFUL = 24
"""Unsure images that are shown, those in most doubt first."""
SHOWN = 12
"""Pictures of a class."""


def told(catalogue: Catalogue, folder: Folder, session: int | None) -> Told:
    """Gather what is to be told of a session, the last one by default."""
    sessions = catalogue.sessions()
    chosen = next((one for one in sessions if one.number == session), None) if session is not None else sessions[-1]
    if chosen is None:
        raise InputError(f"There is no session {session}; the last one is {sessions[-1].number}.")
    alive = [one for one in catalogue.classes() if one.status == "alive"]
    seen = _seen(catalogue, alive, chosen)
    images = _images(catalogue, chosen.number)
    names = tuple(one.state.name for one in seen)
    place = {one.state.id: number for number, one in enumerate(seen)}
    return Told(
        session=chosen,
        sessions=sessions,
        brought=tuple(one for one in seen if not one.state.known and one.state.born == chosen.number),
        earlier=tuple(one for one in seen if not one.state.known and one.state.born != chosen.number),
        taught=tuple(one for one in seen if one.state.known),
        confidence=images.by_verdict(images.confidence),
        novelty=images.by_verdict(images.novelty),
        doubtful=_doubtful(images, dict(zip(place, names, strict=True))),
        sample=_sample(images, place, folder, chosen),
        names=names,
        known=sum(one.state.known for one in seen),
        reliability=Judge.of(chosen.judge).reliability,
        course=course(catalogue),
        operations=journal.history(catalogue.connection),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Images:
    paths: Sequence[str]
    classes: Sequence[str | None]
    verdicts: Array
    confidence: Array
    novelty: Array
    rows: Array

    def by_verdict(self, values: Array) -> dict[str, Array]:
        return {word: values[self.verdicts == code] for code, word in enumerate(VERDICTS)}


def _images(catalogue: Catalogue, session: int) -> _Images:
    blocks = list(catalogue.images(session=session))

    def joined(name: str) -> Array:
        parts = [np.asarray(getattr(block, name)) for block in blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    return _Images(
        paths=[path for block in blocks for path in block.paths],
        classes=[one for block in blocks for one in block.classes],
        verdicts=joined("verdicts"),
        confidence=joined("confidence"),
        novelty=joined("novelty"),
        rows=joined("rows").astype(np.int64),
    )


def _seen(catalogue: Catalogue, alive: Sequence[ClassState], session: SessionRecord) -> list[Seen]:
    names, every = {one.id: one.name for one in catalogue.classes()}, catalogue.image_counts()
    here: dict[str, int] = {}
    first: dict[str, list[str]] = {}
    for block in catalogue.images(session=session.number):
        for one, verdict, path in zip(block.classes, block.verdicts.tolist(), block.paths, strict=True):
            if one is not None and verdict != UNSURE:
                here[one] = here.get(one, 0) + 1
                if here[one] <= SHOWN:
                    first.setdefault(one, []).append(path)
    return [
        Seen(
            state=one,
            nearest=names.get(one.nearest, one.nearest) if one.nearest else "",
            here=here.get(one.id, 0),
            images=every.get(one.id, 0),
            shown=(catalogue.representatives(one.id) or tuple(first.get(one.id, ())))[:SHOWN],
        )
        for one in sorted(alive, key=lambda state: not state.known)
    ]


def _doubtful(images: _Images, names: dict[str, str]) -> tuple[tuple[str, str, float], ...]:
    rows = np.flatnonzero(images.verdicts == UNSURE)
    chosen: list[int] = rows[np.argsort(images.confidence[rows], kind="stable")][:DOUBTFUL].tolist()
    return tuple(
        (images.paths[row], names.get(images.classes[row] or "", ""), float(images.confidence[row])) for row in chosen
    )


def _sample(images: _Images, place: dict[str, int], folder: Folder, session: SessionRecord) -> Sample | None:
    """Return some of the session's features in few dimensions; None where they were not kept or there are none."""
    truth = np.array([place.get(one or "", -1) for one in images.classes], dtype=np.int64)
    usable = np.flatnonzero((truth >= 0) & (images.verdicts != UNSURE)) if len(truth) else truth
    if session.features is None or not len(usable):
        return None
    rows = usable[balanced(truth[usable], IMAGES)]
    features = folder.read(session.features)["features"][images.rows[rows]].float().numpy()
    return Sample(seed=0, session=session.number, truth=truth[rows], points=principal(features, DIMENSIONS))
