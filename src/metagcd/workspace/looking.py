"""Decisions about images one by one, in blocks: however many there are, memory holds one block."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from metagcd.data.contents import Places
from metagcd.data.rows import origin, select
from metagcd.errors import InputError
from metagcd.methods.learner import Learner
from metagcd.models.bank_config import BankConfig
from metagcd.progress import Progress
from metagcd.types import Array, Images, Skipped
from metagcd.workspace.batch import Given, Unsorted, read_images
from metagcd.workspace.book import ClassState, recognised, table_of_states
from metagcd.workspace.catalogue import reading
from metagcd.workspace.folder import Folder
from metagcd.workspace.judge import Judge
from metagcd.workspace.learning import Machine, config_of, encoder_for, learner_for, taken_up
from metagcd.workspace.results import Decisions
from metagcd.workspace.types import ClassTable

BLOCK = 2048
"""Images decided of at a time."""
COLUMNS = ("place", "verdict", "confidence", "novelty")


@dataclass(frozen=True, kw_only=True, eq=False)
class Looking:
    """What a decision is made of; nothing of it changes."""

    learner: Learner
    judge: Judge
    states: tuple[ClassState, ...]
    table: ClassTable

    def decide(self, images: Images) -> Decisions:
        """Decide of every image by itself."""
        scores = self.judge.look(self.learner.embed(images), self.table)
        return Decisions(
            paths=Places(images),
            ids=self.table.ids,
            names=tuple(state.name for state in self.states),
            place=np.asarray(scores.place, dtype=np.int64),
            verdict=scores.verdict,
            confidence=scores.confidence,
            novelty=scores.novelty,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Predictions:
    """Decisions that are made as they are asked for."""

    looking: Looking
    given: Unsorted
    progress: Progress
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    """Files without a decision: those found at the start, and those that turn out to be broken on the way."""

    def __len__(self) -> int:
        """Return how many images there are, those that will turn out to be broken included."""
        return len(self.given.images)

    def __iter__(self) -> Iterator[Decisions]:
        """Yield decisions block by block, in order."""
        images = self.given.images
        with self.progress.bar("predict", len(images)) as bar:
            for start in range(0, len(images), BLOCK):
                rows = np.arange(start, min(start + BLOCK, len(images)))
                yield self._decided(select(images, rows))
                bar.advance(len(rows))

    def _decided(self, images: Images) -> Decisions:
        try:
            return self.looking.decide(images)
        except InputError:
            usable, broken = _read_one_by_one(images)
            if not broken:
                raise
            self.skipped.extend(broken)
            return self.looking.decide(select(images, usable))


def looking(folder: Folder, machine: Machine) -> Looking:
    """Return what decisions are made of after the last session; features are computed once and not stored."""
    with reading(folder) as catalogue:
        fit, last = catalogue.fit(), catalogue.sessions()[-1]
        states = recognised(catalogue.classes())
    config = replace(config_of(fit), bank=BankConfig(use="off"))
    encoder = encoder_for(config, fresh=False)
    encoder.load_state_dict(folder.read(fit.encoder))
    learner = taken_up(learner_for(config, encoder, replace(machine, progress=Progress()), None), folder, last)
    table = table_of_states(states, encoder.dim)
    return Looking(learner=learner, judge=Judge.of(last.judge), states=states, table=table)


def predictions(folder: Folder, given: Given, machine: Machine) -> Predictions:
    """Return the decisions about images, yet to be made."""
    with reading(folder) as catalogue:
        decoding = config_of(catalogue.fit()).decoding
    unsorted = read_images(given, decoding, machine.progress)
    if unsorted.warning:
        machine.progress.say(unsorted.warning)
    return Predictions(
        looking=looking(folder, machine),
        given=unsorted,
        progress=machine.progress,
        skipped=list(unsorted.skipped),
    )


def together(found: Predictions) -> Decisions:
    """Make all decisions, and return them as one."""
    blocks = list(found) or [found.looking.decide(found.given.images)]
    images = [origin(block.paths.images) for block in blocks]
    parent = images[0][0]
    return replace(
        blocks[0],
        paths=Places(select(parent, np.concatenate([rows for _, rows in images]))),
        **{name: np.concatenate([getattr(block, name) for block in blocks]) for name in COLUMNS},
    )


def _read_one_by_one(images: Images) -> tuple[Int[Array, " m"], list[Skipped]]:
    """Return the rows that can be read, and why the others cannot."""
    usable, broken, paths = list[int](), list[Skipped](), Places(images)
    for row in range(len(images)):
        try:
            images.read(np.array([row]))
            usable.append(row)
        except InputError as error:
            broken.append(Skipped(path=paths[row], reason=str(error)))
    return np.array(usable, dtype=np.int64), broken
