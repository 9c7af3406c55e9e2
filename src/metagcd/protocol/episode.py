"""Pseudo sequences of sessions, drawn from the labelled images of session 0 (Alg. 1, line 3)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from metagcd.errors import InputError
from metagcd.protocol.episode_spec import EpisodeSpec
from metagcd.protocol.integrity import class_ids
from metagcd.seeds import Seeds
from metagcd.types import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class PseudoSession:
    """One pseudo session; rows count the images of session 0."""

    train: Int[Array, " n"]
    """Images of this session's classes and of those before, shuffled, to be learnt from without labels."""
    test: Int[Array, " m"]
    """Pseudo-test images of the classes that are new here; the learner adds them to those of earlier sessions."""
    known: tuple[int, ...]
    """Class ids met before this session."""
    novel: tuple[int, ...]
    """Class ids that are new in this session."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Episode:
    """A pseudo sequence: a labelled part to warm up on, then sessions."""

    labelled: Int[Array, " n"]
    labelled_test: Int[Array, " m"]
    known: tuple[int, ...]
    """The pseudo-labelled class ids."""
    sessions: tuple[PseudoSession, ...]


def draw_episode(labels: Array, spec: EpisodeSpec, seeds: Seeds) -> Episode:
    """Draw a pseudo sequence from the labels of session 0; rows are positions in these labels.

    Guaranteed: no image in two training parts, none in both a training and a test part, the labelled part the largest.
    """
    ids = class_ids(labels, "labelled")
    present = np.unique(ids)
    if len(present) < spec.classes:
        raise InputError(
            f"An episode asks for {spec.classes} classes (`labelled` {spec.labelled}, `novel` {sum(spec.novel)}); "
            f"session 0 has {len(present)}. Lower `labelled` or `novel`."
        )
    order = tuple(int(label) for label in seeds.numpy("classes").permutation(present)[: spec.classes])
    births = np.repeat(np.arange(len(spec.novel) + 1), (spec.labelled, *spec.novel))
    trains: list[list[Array]] = [[] for _ in range(len(spec.novel) + 1)]
    tests: list[list[Array]] = [[] for _ in trains]
    for label, birth in zip(order, births, strict=True):
        rows = seeds.numpy("images", label).permutation(np.flatnonzero(ids == label))
        test, parts = _cut(label, rows, int(birth), spec, seeds.numpy("phase", label).random())
        tests[birth].append(test)
        for train, part in zip(trains[birth:], parts, strict=True):
            train.append(part)
    batches = [seeds.numpy("batch", place).permutation(_joined(parts)) for place, parts in enumerate(trains)]
    _require_sizes([len(batch) for batch in batches])
    return _episode(batches, [_joined(parts) for parts in tests], order, spec)


def _cut(
    label: int, rows: Int[Array, " r"], birth: int, spec: EpisodeSpec, phase: float
) -> tuple[Int[Array, " m"], list[Int[Array, " _"]]]:
    """Cut one class: its test images, then its part of the session where it is new and of every later one."""
    if len(rows) < 2:
        raise InputError(f"Class {label} has 1 labelled image; an episode needs 2 or more of each class.")
    tested = min(max(round(spec.test_fraction * len(rows)), 1), len(rows) - 1)
    test, train = rows[:tested], rows[tested:]
    first = max(round((spec.novel_fraction if birth else spec.warmup_fraction) * len(train)), 1)
    sessions = len(spec.novel)
    each = (1 - spec.warmup_fraction) * len(train) / sessions
    # A phase of its own for each class keeps small classes from being absent all in the same session.
    ends = first + np.floor(each * np.arange(1, sessions - birth + 1) + phase).astype(np.int64)
    return test, np.split(train, np.minimum((first, *ends), len(train)))[:-1]


def _joined(parts: list[Array]) -> Int[Array, " n"]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _require_sizes(sizes: list[int]) -> None:
    for session, size in enumerate(sizes[1:], start=1):
        if size == 0:
            raise InputError(
                f"Pseudo session {session} would hold no image. Lower `warmup_fraction`, or raise `novel`."
            )
        if size >= sizes[0]:
            raise InputError(
                f"Pseudo session {session} would hold {size} images, the labelled part {sizes[0]}; that part has to be "
                "the largest. Raise `labelled` or lower `novel`."
            )


def _episode(batches: list[Array], tests: list[Array], order: tuple[int, ...], spec: EpisodeSpec) -> Episode:
    sessions: list[PseudoSession] = []
    met = spec.labelled
    for train, test, novel in zip(batches[1:], tests[1:], spec.novel, strict=True):
        sessions.append(PseudoSession(train=train, test=test, known=order[:met], novel=order[met : met + novel]))
        met += novel
    return Episode(labelled=batches[0], labelled_test=tests[0], known=order[: spec.labelled], sessions=tuple(sessions))
