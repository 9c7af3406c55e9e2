"""A smaller problem made of session 0 alone, on which settings may be chosen: no session and no test image is in it."""

from dataclasses import replace

import numpy as np

from metagcd.data import Dataset
from metagcd.data.rows import fingerprint, select
from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.protocol import Protocol, ProtocolSpec
from metagcd.seeds import Seeds

HELD_OUT = 0.25  # Share of every class of session 0 that serves as the test part.


def validation_problem(
    config: RunConfig, data: Dataset, protocol: Protocol, *, novel: tuple[int, ...] = (), turn: int = 0
) -> tuple[RunConfig, Dataset]:
    """Return the configuration and data of the same kind of problem within session 0.

    Its classes are those of session 0: the first of them are known, the others come in as many sessions
    as in the real problem, in the proportion of the paper's pseudo sequences (4 : 3), or as `novel` says.
    `turn` begins the order of classes so many places later, so that others are novel.
    """
    first = turn % len(protocol.known)
    known = protocol.known[first:] + protocol.known[:first]
    novel = novel or _shared(round(len(known) * 3 / 7), len(protocol.sessions))
    if min(novel, default=0) == 0 or sum(novel) >= len(known):
        raise InputError(f"Session 0 has {len(known)} classes, too few for {len(novel)} validation sessions.")
    labels = data.train_labels[protocol.offline]
    test = _held_out(labels, Seeds(protocol.seed))
    images = select(data.train, protocol.offline)
    part = Dataset(
        train=select(images, np.flatnonzero(~test)),
        train_labels=labels[~test],
        test=select(images, np.flatnonzero(test)),
        test_labels=labels[test],
        class_names=data.class_names,
        fingerprint=fingerprint(data.fingerprint.encode(), protocol.digest.encode(), b"validation"),
        note="A validation part of session 0.",
    )
    return replace(config, protocol=_spec(part, known, novel), split="", split_seed=0), part


def _spec(part: Dataset, known: tuple[int, ...], novel: tuple[int, ...]) -> ProtocolSpec:
    smallest = min(int((part.train_labels == label).sum()) for label in known)
    labelled = len(known) - sum(novel)
    return ProtocolSpec(
        known=labelled,
        novel=novel,
        novel_images=tuple(int(0.6 * smallest) * count for count in novel),
        known_images=(max(int(0.2 * smallest / len(novel)), 1) * labelled,),
        class_order=known,
    )


def _shared(total: int, parts: int) -> tuple[int, ...]:
    return tuple(total // parts + (place < total % parts) for place in range(parts))


def _held_out(labels: np.ndarray, seeds: Seeds) -> np.ndarray:
    test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = seeds.numpy("validation", int(label)).permutation(np.flatnonzero(labels == label))
        test[rows[: round(HELD_OUT * len(rows))]] = True
    return test
