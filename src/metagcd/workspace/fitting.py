"""Fit a workspace: learn the labelled classes, hold some images out, and calibrate on them."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from metagcd.config import to_toml
from metagcd.data.contents import Places, contents, together
from metagcd.errors import InputError
from metagcd.models import Encoder
from metagcd.types import Array, Dataset, LabelledSet
from metagcd.workspace import journal
from metagcd.workspace.book import ClassState
from metagcd.workspace.catalogue import Catalogue, reading
from metagcd.workspace.config import WorkspaceConfig
from metagcd.workspace.database import connected, create, require_free, transaction
from metagcd.workspace.defaults import Chosen, Facts, choose, short_side, with_size
from metagcd.workspace.folder import Folder, Kept, held
from metagcd.workspace.judge import Judge
from metagcd.workspace.judging import fit_judge
from metagcd.workspace.labelled import Labelled, read_labelled, sized
from metagcd.workspace.learning import Machine, encoder_for, halves, learner_for, place_for, size_for, state_of
from metagcd.workspace.record import Recorded, Session, add_file, add_session
from metagcd.workspace.results import Fitted
from metagcd.workspace.table import table_of
from metagcd.workspace.types import KNOWN, ClassTable, Scores


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a workspace is to be made with."""

    method: str = "metagcd"
    """A learner; `metagcd list methods` names all."""
    encoder: str = "auto"
    """`auto`, a registered encoder, or a network of timm."""
    settings: Mapping[str, Any]
    """Tables of settings on top of the defaults."""


def fit(
    folder: Folder, source: str | Path | Dataset, wanted: Wanted, machine: Machine, *, force: bool = False
) -> Fitted:
    """Learn the labelled classes; the workspace is as it was until all of it is done."""
    require_free(folder)
    if folder.exists and not force:
        with reading(folder) as catalogue:
            _require_unfitted(catalogue)
    given = from_settings(wanted.settings)
    told = machine.progress
    labelled = read_labelled(source, held_out=given.held_out, decoding=given.decoding, progress=told)
    chosen = _chosen(labelled, wanted, machine)
    encoder = encoder_for(chosen.config, fresh=True)
    for name, words in chosen.words:
        machine.progress.say(f"{name:<8} {words}")
    if chosen.warning:
        machine.progress.say(chosen.warning)
    with held(folder, wait=machine.wait, progress=machine.progress):
        if not folder.exists:
            create(folder)
        with connected(folder) as connection:
            if not force:
                _require_unfitted(Catalogue(connection))
            folder.sweep(journal.files(connection))
        return _fitted(folder, labelled, chosen, encoder, machine)


def from_settings(settings: Mapping[str, Any]) -> WorkspaceConfig:
    """Return those settings that do not depend on what is chosen for the data."""
    from metagcd.config import from_mapping

    early = {key: settings[key] for key in ("held_out", "decoding") if key in settings}
    return from_mapping(WorkspaceConfig(), early)


def _chosen(labelled: Labelled, wanted: Wanted, machine: Machine) -> Chosen:
    facts = Facts(
        images=labelled.learned,
        classes=len(labelled.names),
        side=short_side(labelled.images),
        device=machine.kind(),
    )
    return choose(facts, method=wanted.method, encoder=wanted.encoder, settings=wanted.settings)


def _require_unfitted(catalogue: Catalogue) -> None:
    if catalogue.sessions():
        raise InputError(
            "The workspace has been fitted already; `metagcd discover` takes further images, --force starts again."
        )


def _fitted(folder: Folder, labelled: Labelled, chosen: Chosen, encoder: Encoder, machine: Machine) -> Fitted:
    started = time.perf_counter()
    config = with_size(chosen, size_for(encoder))
    labelled = sized(labelled, config.decoding)
    names = contents(labelled.images)
    initial = folder.keep(encoder.state_dict())
    key = blake2b(to_toml(config).encode() + names.tobytes() + labelled.labels.tobytes(), digest_size=8).hexdigest()
    learner = learner_for(config, encoder, machine, place_for(folder, key))
    learner.fit_offline(LabelledSet(images=labelled.train, labels=labelled.labels[: labelled.learned]))
    features = learner.embed(labelled.images)
    taught, judge = _calibrated(features, labelled, config.seed)
    decided = judge.look(features[labelled.learned :], taught)
    right = decided.place == labelled.labels[labelled.learned :]
    facts: dict[str, Any] = {
        "images": len(labelled.labels),
        "held_out": len(right),
        "accuracy": float(right.mean()) if len(right) else None,
        "classes": len(labelled.names),
        "skipped": len(labelled.skipped),
        "seconds": time.perf_counter() - started,
        "device": machine.kind(),
        "chosen": [list(pair) for pair in chosen.words],
        "note": labelled.note,
    }
    session = Session(
        number=0,
        source=labelled.source,
        batch=together(names),
        weights=folder.keep(state_of(learner)),
        features=folder.keep({"features": halves(features)}),
        judge=judge.values,
        facts=facts,
        states=taught_states(taught),
        images=_recorded(labelled, names),
    )
    _write(folder, session, initial, to_toml(config))
    shutil.rmtree(folder.stages, ignore_errors=True)
    return Fitted(
        path=str(folder.path),
        classes=taught.ids,
        counts=tuple(np.bincount(labelled.labels, minlength=len(taught)).tolist()),
        accuracy=facts["accuracy"],
        reliability=judge.reliability,
        facts=facts,
        skipped=labelled.skipped,
    )


def _calibrated(features: Float[Array, "n d"], labelled: Labelled, seed: int) -> tuple[ClassTable, Judge]:
    learned, labels = labelled.learned, labelled.labels
    table = table_of(features[:learned], labels[:learned], labelled.names)
    judge = fit_judge(features[:learned], labels[:learned], features[learned:], labels[learned:], seed=seed)
    return table, judge


def taught_states(table: ClassTable) -> tuple[ClassState, ...]:
    """Return the classes that the labels name."""
    return tuple(
        ClassState(
            id=one,
            name=one,
            known=True,
            status="alive",
            born=0,
            mean=np.asarray(table.means[row], dtype=np.float32),
            spread=float(table.spreads[row]),
            count=int(table.counts[row]),
        )
        for row, one in enumerate(table.ids)
    )


def _recorded(labelled: Labelled, names: UInt8[Array, "n 16"]) -> Recorded:
    number = len(names)
    scores = Scores(
        place=labelled.labels,
        confidence=np.ones(number),
        novelty=np.zeros(number),
        verdict=np.full(number, KNOWN, dtype=np.int8),
    )
    rows = np.arange(number)
    paths = Places(labelled.images)
    return Recorded(rows=rows, paths=paths, contents=names, features=rows, scores=scores, ids=labelled.names)


def _write(folder: Folder, session: Session, encoder: Kept, config: str) -> None:
    with connected(folder) as connection:
        with transaction(connection):
            facts = session.facts
            words = f"fit {session.source}: {facts['images']} images, {facts['classes']} classes"
            operation = journal.begin(connection, "fit", words)
            journal.replace_all(connection, operation)
            add_session(connection, operation, session)
            add_file(connection, encoder)
            connection.execute(
                "INSERT INTO fits (operation, config, encoder) VALUES (?, ?, ?)", (operation, config, encoder.name)
            )
        folder.sweep(journal.files(connection))
