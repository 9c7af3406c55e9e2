"""Run directories as a run leaves them, with answers of a known quality."""

import io
from dataclasses import dataclass

import numpy as np

from metagcd.data.rows import ArrayImages
from metagcd.data.skipped import write_skipped_csv
from metagcd.experiment.sample import sample
from metagcd.protocol import ProtocolSpec, split, write_manifest
from metagcd.results import DETECTION, NOVELTY, Row
from metagcd.runs import open_run, write_atomic
from metagcd.types import Dataset, Skipped

SPEC = ProtocolSpec(known=3, novel=(1, 1), novel_images=(4,), known_images=(6,), labelled_fraction=0.5)


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a made run is like."""

    method: str = "frozen"
    seeds: tuple[int, ...] = (0, 1)
    note: str = "A note on the data."
    names: tuple[str, ...] = ("ant", "bee", "cat", "dog", "elk")
    spec: ProtocolSpec = SPEC
    answers: bool = True
    splits: bool = True
    source: str = "arrays"
    counted: int = 0
    """Classes that the read-out finds beyond those met."""
    features: bool = False
    """Whether features for a map were kept."""
    spotted: bool = False
    """Whether it was kept how well novel images were told from known ones."""
    skipped: tuple[Skipped, ...] = ()


def images(names, each=12):
    """A data set with a class of flat grey squares per name."""
    labels = np.repeat(np.arange(len(names)), each)
    pixels = np.repeat(labels * (255 // len(names)), 8 * 8 * 3).astype(np.uint8).reshape(-1, 8, 8, 3)
    part = ArrayImages(pixels)
    return Dataset(
        train=part, train_labels=labels, test=part, test_labels=labels, class_names=tuple(names), fingerprint="f" * 16
    )


def made(path, how=Made()):
    """Write a run directory; all test images are right but the first of every class, which is in the next cluster."""
    data = images(how.names)
    run = open_run(
        path,
        f'seeds = {list(how.seeds)}\n\n[source]\nname = "{how.source}"\n',
        about={"source_fingerprint": data.fingerprint, "note": how.note, "device": "cpu"},
    )
    if how.skipped:
        write_skipped_csv(path / "skipped.csv", how.skipped)
    for seed in how.seeds:
        run.seed(seed).mkdir(parents=True, exist_ok=True)
        protocol = split(data.train_labels, data.test_labels, how.spec, 0)
        if how.splits:
            write_manifest(run.seed(seed) / "split.json", protocol, source_fingerprint=data.fingerprint)
        for session, test in enumerate([protocol.offline_test, *(part.test for part in protocol.sessions)]):
            run.write_rows(seed, session, _rows(path.name, how, protocol.digest, seed, session))
            if how.answers:
                beside = spotted(seed, len(test)) if how.spotted and session else {}
                _answer(run.seed(seed) / f"session-{session}.npz", data.test_labels[test], beside, how.features)
    return run


def _rows(run, how, digest, seed, session):
    nothing = float("nan")
    return [
        Row(
            run=run,
            method=how.method,
            data="squares",
            protocol=digest,
            seed=seed,
            session=session,
            partition=partition,
            assignment=assignment,
            readout="kmeans",
            classes=how.spec.known + session + how.counted,
            all=70.0 + seed,
            old=80.0 - session,
            new=nothing if session == 0 else 40.0 + 2 * seed,
            seconds=1.5,
            memory=2_000_000,
        )
        for partition in ("initial", "previous")
        for assignment in ("global", "split")
    ]


def spotted(seed, images):
    """What a run keeps of novelty."""
    return {NOVELTY: np.zeros(images, dtype=np.float32), DETECTION: np.array([90.0 + 2 * seed, 30.0])}


def _answer(file, truth, beside, features):
    first = np.unique(truth, return_index=True)[1]
    predicted = truth.copy()
    predicted[first] = (truth[first] + 1) % (truth.max() + 1)
    noise = np.random.default_rng(0).normal(scale=0.1, size=(len(truth), 1))
    kept = sample(np.eye(truth.max() + 1)[truth] + noise, truth) if features else {}
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, truth=truth, kmeans=predicted + 10, **kept, **beside)
    write_atomic(file, content.getvalue())
