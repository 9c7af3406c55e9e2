"""Streams of features with known truth: session 0, and then sessions that bring new classes, or none.

Used by `workspace.py`. Three kinds: the handwritten digits through a network that was trained on seven of them,
mixtures whose known classes are tighter than the new ones, and features of an .npz file (`x`: rows, `y`: class ids).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

CACHE = Path("~/.cache/metagcd/benchmarks").expanduser()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which classes come when."""

    known: int
    novel: tuple[int, ...]
    present: float = 1.0
    """Share of the classes met before that a session shows."""
    labelled: float = 0.5
    """Share of a known class's images that session 0 holds; a fifth of them is held out."""


DIGITS = Plan(known=7, novel=(1, 1, 0, 1, 0))


@dataclass(frozen=True)
class Stream:
    """Features and class ids; classes are numbered in the order in which they are met."""

    features: np.ndarray
    labels: np.ndarray
    held_out: np.ndarray
    held_out_labels: np.ndarray
    sessions: list[tuple[np.ndarray, np.ndarray]]
    """Features and truth. The truth is for scores alone."""
    known: int


def unit(x: np.ndarray) -> np.ndarray:
    """Return rows of length one in single precision."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def deal(x: np.ndarray, labels: np.ndarray, plan: Plan, seed: int) -> Stream:
    """Deal the images of classes, numbered in the order of their coming, to session 0 and to the sessions."""
    rng = np.random.default_rng(seed)
    sessions: list[list[np.ndarray]] = [[] for _ in plan.novel]
    first = np.repeat(np.arange(len(plan.novel)), plan.novel)
    train, held = [], []
    for place in range(plan.known + len(first)):
        rows = rng.permutation(np.flatnonzero(labels == place))
        start = 0
        if place < plan.known:
            kept = max(2, round(plan.labelled * len(rows)))
            out = max(1, kept // 5)
            held.append(rows[:out])
            train.append(rows[out:kept])
            rows = rows[kept:]
        else:
            start = first[place - plan.known]
        shows = [t for t in range(start, len(plan.novel)) if t == start or rng.random() < plan.present]
        # A new class shows itself with twice as many images in its first session.
        weights = np.array([2.0 if place >= plan.known and t == start else 1.0 for t in shows])
        edges = np.rint(np.cumsum(weights / weights.sum())[:-1] * len(rows)).astype(int) if shows else []
        for t, part in zip(shows, np.split(rows, edges), strict=False):
            sessions[t].append(part)
    order = [rng.permutation(np.concatenate(parts)) if parts else np.zeros(0, int) for parts in sessions]
    fit, out = np.concatenate(train), np.concatenate(held)
    return Stream(x[fit], labels[fit], x[out], labels[out], [(x[rows], labels[rows]) for rows in order], plan.known)


def mixture(seed: int, *, known: int = 20, dim: int = 64, noise: float = 0.9, looser: float = 1.15) -> Stream:
    """Draw classes with long axes around centres in families; the new ones are wider and lie closer together."""
    rng = np.random.default_rng(seed)
    plan = Plan(known=known, novel=(3, 0, 2, 4, 1, 2), present=0.7)
    classes = known + sum(plan.novel)
    families = rng.normal(size=(max(2, classes // 5), dim))
    centres = unit(0.5 * families[rng.integers(len(families), size=classes)] + rng.normal(size=(classes, dim)))
    width = noise * rng.uniform(0.8, 1.25, size=classes)
    width[known:] *= looser
    axes = 1 / np.sqrt(1 + np.arange(dim) / 4)  # long and short axes: the first few carry most of a class's spread
    axes /= np.linalg.norm(axes)
    x, labels = [], []
    for place in range(classes):
        count = int(rng.integers(120, 400))
        turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
        tail = np.sqrt(8 / rng.chisquare(8, size=(count, 1)))  # outliers: Student's t
        x.append(centres[place] + width[place] * (rng.normal(size=(count, dim)) * axes * tail) @ turn)
        labels.append(np.full(count, place))
    return deal(unit(np.concatenate(x)), np.concatenate(labels), plan, seed)


def digits(seed: int) -> Stream:
    """Deal the handwritten digits, as seen by a network trained on the labelled ones of seven classes."""
    file = CACHE / f"digits-7-{seed}.npz"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        stream = _trained_digits(seed)
        np.savez(file, **{f"x{t}": x for t, (x, _) in enumerate(stream.sessions)},
                 **{f"y{t}": y for t, (_, y) in enumerate(stream.sessions)},
                 features=stream.features, labels=stream.labels, held_out=stream.held_out,
                 held_out_labels=stream.held_out_labels)  # fmt: skip
    kept = np.load(file)
    names = ("features", "labels", "held_out", "held_out_labels")
    sessions = [(kept[f"x{t}"], kept[f"y{t}"]) for t in range(len(kept.files) // 2 - 2)]
    return Stream(*(kept[name] for name in names), sessions, DIGITS.known)


def table(path: Path, seed: int, plan: Plan) -> Stream:
    """Deal the rows of an .npz file; a seed's classes come in an order of their own."""
    x, y = _read(path)
    order = np.random.default_rng(seed).permutation(np.unique(y))[: plan.known + sum(plan.novel)]
    place = np.full(int(y.max()) + 1, -1)
    place[order] = np.arange(len(order))
    return deal(unit(x), place[y], plan, seed)


@cache
def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as kept:
        return kept["x"].astype(np.float32), kept["y"].astype(np.int64)


def _trained_digits(seed: int) -> Stream:
    from metagcd import load_preset
    from metagcd.data import load
    from metagcd.data.rows import select
    from metagcd.engine.runtime import Runtime, fabric_on
    from metagcd.methods import METHODS
    from metagcd.methods.learner import Setting
    from metagcd.models import encoder_of
    from metagcd.seeds import Seeds
    from metagcd.types import LabelledSet

    config, seeds = load_preset("gcd-digits"), Seeds(seed)
    data = load(config.source)
    order = np.random.default_rng(seed).permutation(10)
    labels = np.argsort(order)[data.train_labels]
    rows = np.arange(len(labels), dtype=np.float32)[:, None]
    dealt = deal(rows, labels, DIGITS, seed)
    setting = Setting(
        encoder=encoder_of(config.encoder, seeds.child("encoder")),
        seeds=seeds.child("method"),
        augmentation=config.augmentation,
        runtime=Runtime(fabric=fabric_on("cpu")),
    )
    learner = METHODS.of(config.method).target(config.method, setting)
    chosen = dealt.features[:, 0].astype(np.int64)
    learner.fit_offline(LabelledSet(images=select(data.train, chosen), labels=dealt.labels))
    x = learner.embed(data.train)

    def seen(part: np.ndarray) -> np.ndarray:
        return x[part[:, 0].astype(np.int64)]

    sessions = [(seen(part), truth) for part, truth in dealt.sessions]
    return Stream(
        seen(dealt.features), dealt.labels, seen(dealt.held_out), dealt.held_out_labels, sessions, DIGITS.known
    )
