"""Labels, a specification and a seed -> a protocol."""

import numpy as np
from jaxtyping import Int

from metagcd.errors import InputError
from metagcd.protocol.integrity import check, class_ids
from metagcd.protocol.plan import Plan, make_plan
from metagcd.protocol.sequence import Protocol, Session
from metagcd.protocol.spec import ProtocolSpec
from metagcd.seeds import Seeds
from metagcd.types import Array


def split(labels: Array, test_labels: Array, spec: ProtocolSpec, seed: int) -> Protocol:
    """Draw which images come when; the same arguments give the same protocol on every platform.

    Guaranteed: no image twice (unless `spec.redraw`), none of session 0 in a later session, test rows cumulative.
    """
    train, test = class_ids(labels, "training"), class_ids(test_labels, "test")
    seeds = Seeds(seed).child("protocol")
    order = ordered_classes(train, spec, seeds)
    sizes = np.array([np.count_nonzero(train == label) for label in order], dtype=np.int64)
    plan = make_plan(spec, order, sizes, seeds)
    offline, batches = _draw(train, order, plan, spec.redraw, seeds)
    known = order[: spec.known]
    protocol = Protocol(
        spec=spec,
        seed=seed,
        offline=offline,
        offline_test=_rows_of(test, known),
        known=known,
        sessions=_sessions(batches, test, order, spec),
    )
    check(protocol, train, test)
    return protocol


def ordered_classes(labels: Int[Array, " n"], spec: ProtocolSpec, seeds: Seeds) -> tuple[int, ...]:
    """Return the class ids that the protocol uses, in the order in which they are met."""
    present = np.unique(labels)
    if isinstance(spec.class_order, tuple):
        order = np.array(spec.class_order, dtype=np.int64)
        if len(np.unique(order)) < len(order):
            raise InputError("`class_order` names a class more than once.")
        for label in order[~np.isin(order, present)]:
            raise InputError(f"`class_order` names class {label}, of which there is no training image.")
    else:
        order = seeds.numpy("classes").permutation(present) if spec.class_order == "seeded" else present
    if len(order) < spec.classes:
        raise InputError(
            f"The protocol asks for {spec.classes} classes (`known` {spec.known}, `novel` {sum(spec.novel)}); "
            f"there are {len(order)}. Lower `known` or `novel`."
        )
    return tuple(int(label) for label in order[: spec.classes])


def _draw(
    labels: Int[Array, " n"], order: tuple[int, ...], plan: Plan, redraw: bool, seeds: Seeds
) -> tuple[Int[Array, " s"], list[Int[Array, " _"]]]:
    offline: list[Array] = []
    online: list[list[Array]] = [[] for _ in plan.online]
    for place, label in enumerate(order):
        shuffled = seeds.numpy("images", label).permutation(np.flatnonzero(labels == label))
        offline.append(shuffled[: plan.offline[place]])
        left = shuffled[plan.offline[place] : plan.pool[place]]
        for session, count in enumerate(plan.online[:, place]):
            if redraw:
                left = seeds.numpy("images", label, session).permutation(left)
            online[session].append(left[:count])
            left = left if redraw else left[count:]
    batches = [seeds.numpy("batch", t).permutation(np.concatenate(rows)) for t, rows in enumerate(online)]
    return np.sort(np.concatenate(offline)), batches


def _sessions(
    batches: list[Int[Array, " _"]], test: Int[Array, " m"], order: tuple[int, ...], spec: ProtocolSpec
) -> tuple[Session, ...]:
    sessions: list[Session] = []
    met = spec.known
    for batch, novel in zip(batches, spec.novel, strict=True):
        known, new = order[:met], order[met : met + novel]
        sessions.append(Session(train=batch, test=_rows_of(test, known + new), known=known, novel=new))
        met += novel
    return tuple(sessions)


def _rows_of(labels: Int[Array, " n"], classes: tuple[int, ...]) -> Int[Array, " m"]:
    return np.flatnonzero(np.isin(labels, classes)).astype(np.int64)
