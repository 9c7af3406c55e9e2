"""One session: adapt to a batch without labels, decide of every image, and take up the classes that are new."""

import shutil
import time
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from metagcd.data.rows import select
from metagcd.seeds import Seeds
from metagcd.types import Images, UnlabelledSet
from metagcd.workspace import journal
from metagcd.workspace.adapting import Adapted, adapt, in_order
from metagcd.workspace.batch import Batch, Fresh, by_content, fresh_of, read_batch
from metagcd.workspace.book import ClassState, new_ids, recognised, table_of_states, with_statistics
from metagcd.workspace.catalogue import Catalogue, FitRecord, SessionRecord, reading
from metagcd.workspace.database import connected, transaction
from metagcd.workspace.folder import Folder, held
from metagcd.workspace.judge import Judge
from metagcd.workspace.learning import Machine, config_of, halves, learner_at, place_for, state_of
from metagcd.workspace.outcome import born, decisions, described, tally
from metagcd.workspace.record import Recorded, Session, add_session
from metagcd.workspace.results import Discovery
from metagcd.workspace.sorting import sort_session
from metagcd.workspace.types import Count


@dataclass(frozen=True, kw_only=True)
class How:
    """How a session is gone about."""

    n_novel: int | None = None
    """New classes to find; None: as many as there seem to be."""
    preview: bool = False
    """Only tell what would come of it."""
    keep: int | None = None
    """Sessions whose weights stay, beside the first; None: all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Before:
    """The workspace as a session finds it."""

    fit: FitRecord
    last: SessionRecord
    recognised: tuple[ClassState, ...]
    """The classes that images are compared with."""
    ids: tuple[str, ...]
    """Ids for new classes, as many as could be needed."""
    fresh: Fresh


def discover(folder: Folder, given: str | Path | UnlabelledSet | Images, how: How, machine: Machine) -> Discovery:
    """Carry out a session; until it is complete the workspace is as it was, and with `preview` it stays so."""
    with reading(folder) as catalogue:  # say at once what cannot be
        decoding = config_of(catalogue.fit()).decoding
    with nullcontext() if how.preview else held(folder, wait=machine.wait, progress=machine.progress):
        if not how.preview:
            with connected(folder) as connection:
                folder.sweep(journal.files(connection))
        batch = read_batch(given, decoding, machine.progress)
        if batch.warning:
            machine.progress.say(batch.warning)
        with reading(folder) as catalogue:
            before = _before(catalogue, batch)
            same = catalogue.batch(batch.name)
            if same is not None or not len(before.fresh.rows):
                return _nothing_new(catalogue, batch, before, same)
        return _session(folder, batch, before, how, machine)


def _before(catalogue: Catalogue, batch: Batch) -> Before:
    fresh = fresh_of(batch, catalogue)
    return Before(
        fit=catalogue.fit(),
        last=catalogue.sessions()[-1],
        recognised=recognised(catalogue.classes()),
        ids=new_ids(catalogue.connection, len(fresh.rows)),
        fresh=fresh,
    )


def _nothing_new(catalogue: Catalogue, batch: Batch, before: Before, same: int | None) -> Discovery:
    return Discovery(
        outcome="nothing new" if same is None else "same batch",
        session=same,
        found=(),
        count=Count(k=0, low=0, high=0),
        images=decisions(catalogue, batch, before.fresh, None, before.recognised),
        facts=tally(batch, before.fresh, None, ()),
        skipped=batch.skipped,
    )


def _session(folder: Folder, batch: Batch, before: Before, how: How, machine: Machine) -> Discovery:
    started, number = time.perf_counter(), before.last.number + 1
    judge = Judge.of(before.last.judge)
    key = blake2b(f"{before.last.operation} ".encode() + batch.name, digest_size=8).hexdigest()
    learner = learner_at(folder, before.fit, before.last, machine, None if how.preview else place_for(folder, key))
    order = by_content(batch, before.fresh.rows)
    seed = Seeds(config_of(before.fit).seed).integer("sort", number)
    adapted = adapt(
        learner,
        select(batch.images, before.fresh.rows),
        table_of_states(before.recognised, learner.embed(select(batch.images, [])).shape[1]),
        lambda features, table: in_order(
            sort_session(features[order], table, judge, n_novel=how.n_novel, seed=seed), order
        ),
    )
    found, fresh = adapted.found, before.fresh
    new = born(found, before.ids[: len(found.groups)], number)
    states = (*with_statistics(before.recognised, found.table), *new)
    facts = {
        **tally(batch, fresh, found.scores, before.recognised),
        "new classes": found.count.k,
        "at least": found.count.low,
        "at most": found.count.high,
        "number given": how.n_novel is not None,
        "adapted": adapted.trained,
        "seconds": time.perf_counter() - started,
    }
    if not how.preview:
        session = Session(
            number=number,
            source=batch.source,
            batch=batch.name,
            weights=folder.keep(state_of(learner)),
            features=folder.keep({"features": halves(adapted.features)}),
            judge=judge.values,
            facts=facts,
            states=states,
            images=_recorded(batch, fresh, adapted, states),
            typical={one.id: group.representatives for one, group in zip(new, found.groups, strict=True)},
        )
        _write(folder, session, how)
    with reading(folder) as catalogue:
        decided = decisions(catalogue, batch, fresh, found.scores, states)
    return Discovery(
        outcome="preview" if how.preview else "learned",
        session=None if how.preview else number,
        found=described(batch, fresh, found, new),
        count=found.count,
        images=decided,
        facts=facts,
        skipped=batch.skipped,
    )


def _recorded(batch: Batch, fresh: Fresh, adapted: Adapted, states: tuple[ClassState, ...]) -> Recorded:
    rows = np.flatnonzero(fresh.row_of >= 0)
    return Recorded(
        rows=rows,
        paths=batch.paths,
        contents=batch.contents[rows],
        features=fresh.row_of[rows],
        scores=adapted.found.scores,
        ids=tuple(state.id for state in states),
    )


def _write(folder: Folder, session: Session, how: How) -> None:
    with connected(folder) as connection:
        with transaction(connection):
            facts: dict[str, Any] = session.facts
            brought = ", ".join(session.typical) or "no new class"
            words = f"session {session.number}, {session.source}: {facts['images']} images, {brought}"
            add_session(connection, journal.begin(connection, "discover", words), session)
            journal.forget(connection, keep=how.keep)
        folder.sweep(journal.files(connection))
    shutil.rmtree(folder.stages, ignore_errors=True)
