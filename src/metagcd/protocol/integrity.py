"""What must hold of every protocol, however it came to be."""

from itertools import pairwise

import numpy as np
from jaxtyping import Int

from metagcd.errors import InputError
from metagcd.protocol.sequence import Protocol, Session
from metagcd.types import Array


def class_ids(labels: Array, part: str) -> Int[Array, " n"]:
    """Return labels as 64-bit class ids, or say why they are none."""
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise InputError(f"The {part} labels must be a row of integers; got {labels.dtype} of shape {labels.shape}.")
    if len(labels) == 0:
        raise InputError(f"There are no {part} labels.")
    if labels.min() < 0:
        raise InputError(f"The {part} labels must be 0 or more; got {labels.min()}.")
    return labels.astype(np.int64)


def check(protocol: Protocol, labels: Array | None = None, test_labels: Array | None = None) -> None:
    """Raise if an image or a class is where it must not be; labels, where given, are held against the rows."""
    _check_classes(protocol)
    _check_images(protocol)
    _check_tests(protocol)
    if labels is not None:
        _check_training_labels(protocol, class_ids(labels, "training"))
    if test_labels is not None:
        _check_test_labels(protocol, class_ids(test_labels, "test"))


def _check_classes(protocol: Protocol) -> None:
    order = protocol.class_order
    _require(len(set(order)) == len(order), "a class is new more than once")
    _require(len(protocol.known) == protocol.spec.known, "the known classes are not as many as the specification says")
    novel = tuple(len(session.novel) for session in protocol.sessions)
    _require(novel == protocol.spec.novel, "the new classes are not as many as the specification says")
    met = protocol.known
    for session in protocol.sessions:
        _require(session.known == met, "a session's known classes are not those met before it")
        met += session.novel


def _check_images(protocol: Protocol) -> None:
    batches = [session.train for session in protocol.sessions]
    for rows in (protocol.offline, *batches):
        _require(len(rows) > 0 and rows.min() >= 0, "a session holds no image, or a row below 0")
        _require(len(np.unique(rows)) == len(rows), "a session holds an image twice")
    online = np.concatenate(batches)
    _require(not np.isin(online, protocol.offline).any(), "an image of session 0 comes again in a later session")
    if not protocol.spec.redraw:
        _require(len(np.unique(online)) == len(online), "an image is used in two sessions")


def _check_tests(protocol: Protocol) -> None:
    tests = [protocol.offline_test, *(session.test for session in protocol.sessions)]
    for rows in tests:
        _require(len(np.unique(rows)) == len(rows) and rows.min(initial=0) >= 0, "a test part holds an image twice")
    for earlier, later in pairwise(tests):
        _require(np.isin(earlier, later).all(), "a test part lacks images of an earlier one")


def _check_training_labels(protocol: Protocol, labels: Int[Array, " n"]) -> None:
    _require_within(protocol.offline, labels, protocol.known)
    for session in protocol.sessions:
        _require_within(session.train, labels, session.known + session.novel)
        _require(np.isin(session.novel, labels[session.train]).all(), "a new class has no image in its session")


def _check_test_labels(protocol: Protocol, labels: Int[Array, " m"]) -> None:
    first = Session(train=protocol.offline, test=protocol.offline_test, known=protocol.known, novel=())
    for session in (first, *protocol.sessions):
        met = session.known + session.novel
        for label in np.setdiff1d(met, labels):
            raise InputError(f"Class {label} has no test image; leave it out of `class_order`, or add test images.")
        everything = np.flatnonzero(np.isin(labels, met))
        _require(np.array_equal(np.sort(session.test), everything), "a test part is not that of the classes met so far")


def _require_within(rows: Int[Array, " b"], labels: Int[Array, " n"], classes: tuple[int, ...]) -> None:
    _require(rows.max() < len(labels), f"it names row {rows.max()}, and there are {len(labels)} training images")
    _require(np.isin(labels[rows], classes).all(), "a session holds images of a class that is not in it")


def _require(holds: bool | np.bool, violation: str) -> None:
    if not holds:
        raise InputError(f"The protocol is not sound: {violation}.")
