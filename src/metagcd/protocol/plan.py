"""How many images of each class go where, before any image is drawn."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from metagcd.errors import InputError
from metagcd.protocol.spec import ProtocolSpec
from metagcd.seeds import Seeds
from metagcd.types import Array

CountField = Literal["novel_images", "known_images", "discovered_images"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Image counts of every class, in class order."""

    offline: Int[Array, " c"]
    online: Int[Array, "t c"]
    pool: Int[Array, " c"]
    """How many of a class's images may be used at all; fewer than there are when `imbalance` is above 1."""


def make_plan(spec: ProtocolSpec, order: tuple[int, ...], sizes: Int[Array, " c"], seeds: Seeds) -> Plan:
    """Return the counts for classes of these sizes, or name the first class that has too few images."""
    weights = tail_weights(spec, seeds)
    pool = np.maximum(np.rint(sizes * weights), 1).astype(np.int64)
    offline = np.zeros(spec.classes, dtype=np.int64)
    offline[: spec.known] = np.rint(spec.labelled_fraction * pool[: spec.known])
    _require_labelled(spec, order, pool, offline)
    left = pool - offline
    online = np.zeros((len(spec.novel), spec.classes), dtype=np.int64)
    for session in range(len(spec.novel)):
        for positions, field in _groups(spec, session):
            rng = seeds.numpy("remainder", session, field)
            free = left[positions] if spec.redraw else left[positions] - online[:session, positions].sum(axis=0)
            online[session, positions] = _allot(spec, spec.count(field, session), weights[positions], free, rng)
        _require_session(spec, session, online[session])
    needed = online.max(axis=0) if spec.redraw else online.sum(axis=0)
    _require_enough(spec, order, pool, offline, needed)
    return Plan(offline=offline, online=online, pool=pool)


def tail_weights(spec: ProtocolSpec, seeds: Seeds) -> Float[Array, " c"]:
    """Return the size of every class relative to the largest one."""
    ranks = seeds.numpy("tail").permutation(spec.classes)
    return spec.imbalance ** (-ranks / max(spec.classes - 1, 1))


def largest_remainder(
    total: int, weights: Float[Array, " c"], free: Int[Array, " c"], rng: np.random.Generator
) -> Int[Array, " c"]:
    """Share a total in proportion to the weights; what is left over goes to the largest remainders.

    Equal remainders go to the class with the most free images, then by chance, so that whether a protocol fits does not
    hang on the seed.
    """
    exact = total * weights / weights.sum()
    counts = np.floor(exact).astype(np.int64)
    first = np.lexsort((rng.random(len(weights)), -free, counts - exact))
    counts[first[: total - counts.sum()]] += 1
    return counts


def _groups(spec: ProtocolSpec, session: int) -> list[tuple[slice, CountField]]:
    met = spec.known + sum(spec.novel[:session])
    new = (slice(met, met + spec.novel[session]), "novel_images")
    if spec.discovered_images:
        return [(slice(0, spec.known), "known_images"), (slice(spec.known, met), "discovered_images"), new]
    return [(slice(0, met), "known_images"), new]


def _allot(
    spec: ProtocolSpec, count: int, weights: Float[Array, " c"], free: Int[Array, " c"], rng: np.random.Generator
) -> Int[Array, " c"]:
    if count == 0 or len(weights) == 0:
        return np.zeros(len(weights), dtype=np.int64)
    if spec.unit == "class":
        return np.maximum(np.rint(count * weights), 1).astype(np.int64)
    return largest_remainder(count, weights, free, rng)


def _require_labelled(
    spec: ProtocolSpec, order: tuple[int, ...], pool: Int[Array, " c"], offline: Int[Array, " c"]
) -> None:
    for place in np.flatnonzero(offline[: spec.known] == 0):
        raise InputError(
            f"Class {order[place]} has {pool[place]} training images; `labelled_fraction = {spec.labelled_fraction}` "
            "leaves session 0 without any of it. Raise `labelled_fraction` or leave the class out of `class_order`."
        )


def _require_session(spec: ProtocolSpec, session: int, counts: Int[Array, " c"]) -> None:
    if counts.sum() == 0:
        raise InputError(
            f"Session {session + 1} would hold no image. Raise `known_images`, or `novel` and `novel_images`."
        )
    met = spec.known + sum(spec.novel[:session])
    missing = int((counts[met : met + spec.novel[session]] == 0).sum())
    if missing:
        raise InputError(
            f"Session {session + 1} has {spec.novel[session]} new classes, but `novel_images` gives "
            f"{spec.count('novel_images', session)} images: {missing} classes would have none. Raise `novel_images`."
        )


def _require_enough(
    spec: ProtocolSpec,
    order: tuple[int, ...],
    pool: Int[Array, " c"],
    offline: Int[Array, " c"],
    needed: Int[Array, " c"],
) -> None:
    for place in np.flatnonzero(offline + needed > pool):
        later = "`discovered_images`" if spec.discovered_images else "`known_images`"
        fields = "`known_images` or `labelled_fraction`" if place < spec.known else f"`novel_images` or {later}"
        total, online = offline[place] + needed[place], "one session" if spec.redraw else "the online sessions"
        raise InputError(
            f"Class {order[place]} has {pool[place]} training images, but {total} are needed "
            f"({offline[place]} in session 0, {needed[place]} in {online}). Lower {fields}."
        )
