"""Rehearse sessions within session 0: hide classes, look for them, and keep the thresholds that find them best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from metagcd.cluster import match, nearest
from metagcd.cluster.assignment import apply
from metagcd.cluster.points import as_points
from metagcd.types import Array
from metagcd.workspace.grouping import Pool, first_means
from metagcd.workspace.judge import Judge
from metagcd.workspace.novel import new_classes, pooled
from metagcd.workspace.table import table_of

DRAWS = 3
"""Sessions with hidden classes; one more has none."""
HIDDEN = 0.25
"""Share of the classes that is hidden."""
MOST_CLASSES = 200
"""Most classes that take part."""
FEWEST_CLASSES = 4
"""Fewest classes to rehearse with; with fewer the thresholds stay what they are."""
IMAGES = 3000
"""Most images of a rehearsed session."""
GRID = {
    "apart": (3.2, 2.6, 2.0, 4.0, 5.0),
    "alike": (0.5, 0.4, 0.3, 0.6, 0.7),
    "caution": (1.0, 0.5, 0.0, 2.0),
}
"""Values tried, one threshold after the other; the first is what holds where there is no rehearsal. Two halves of one
Gaussian lie 2.65 apart, and are to count as one class."""
EQUAL = 0.01
"""Accuracies that differ by no more count as equal; the first such value is taken."""


@dataclass(frozen=True)
class Taught:
    """Images of session 0: those that the classes are known by, and those held out."""

    features: Float[Array, "n d"]
    labels: Int[Array, " n"]
    held_out: Float[Array, "m d"]
    held_out_labels: Int[Array, " m"]


@dataclass(frozen=True)
class Rehearsal:
    """A session of which the truth is known."""

    pool: Pool
    truth: Int[Array, " n"]
    """Place of the class in the table; numbers beyond it are hidden classes."""
    first: Float[Array, "g d"]


def rehearsed(judge: Judge, taught: Taught, *, seed: int) -> Judge:
    """Return the judge with the thresholds that sort the rehearsed sessions best."""
    rng = np.random.default_rng(seed)
    taught = some_classes(taught, rng)
    classes = int(taught.labels.max(initial=-1)) + 1
    if classes < FEWEST_CLASSES:
        return judge
    sessions = [rehearsal(judge, taught, rng, hidden) for hidden in [max(1, round(HIDDEN * classes))] * DRAWS + [0]]
    for name, values in GRID.items():
        judge = replace(judge, **{name: first_of_best(judge, sessions, name, values)})
    return judge


def some_classes(taught: Taught, rng: np.random.Generator) -> Taught:
    """Return the images of as many classes as take part, numbered anew."""
    classes = int(taught.labels.max(initial=-1)) + 1
    place = np.full(classes, -1)
    chosen = rng.permutation(classes)[:MOST_CLASSES]
    place[chosen] = np.arange(len(chosen))
    own, held = place[taught.labels], place[taught.held_out_labels]
    return Taught(taught.features[own >= 0], own[own >= 0], taught.held_out[held >= 0], held[held >= 0])


def rehearsal(judge: Judge, taught: Taught, rng: np.random.Generator, hidden: int) -> Rehearsal:
    """Draw a session: held-out images of most classes, and all images of classes that are hidden."""
    classes = int(taught.labels.max()) + 1
    order = rng.permutation(classes)
    place = np.empty(classes, dtype=np.int64)
    place[order] = np.arange(classes)
    kept = classes - hidden
    own, held = place[taught.labels], place[taught.held_out_labels]
    known = own < kept
    table = table_of(taught.features[known], own[known], tuple(str(name) for name in range(kept)))
    x = np.concatenate([taught.held_out, taught.features[~known]])
    truth = np.concatenate([held, own[~known]])
    rows = np.sort(rng.permutation(balanced(truth, kept, rng))[:IMAGES])
    x, truth = x[rows], truth[rows]
    scores = judge.look(x, table)
    whole = Pool(features=x, novelty=scores.novelty, table=table, judge=judge)
    seed = int(rng.integers(2**31))
    chosen = pooled(scores, seed)
    pool = whole.rows(chosen)
    return Rehearsal(pool, truth[chosen], first_means(pool, n_novel=None, seed=seed))


def balanced(truth: Int[Array, " n"], kept: int, rng: np.random.Generator) -> Int[Array, " m"]:
    """Return rows of all images of known classes, and of hidden ones twice as many per class as of a known one."""
    counts = np.bincount(truth, minlength=kept)
    most = max(10, 2 * int(np.ceil(counts[:kept].mean())))
    order = rng.permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    rank = np.arange(len(order)) - np.searchsorted(truth[order], truth[order])
    return order[(truth[order] < kept) | (rank < most)]


def first_of_best(judge: Judge, sessions: Sequence[Rehearsal], name: str, values: Sequence[float]) -> float:
    """Return the first value of a threshold at which the sessions are sorted as well as at any."""
    accuracy = [
        float(np.mean([sorted_right(session, replace(judge, **{name: value})) for session in sessions]))
        for value in values
    ]
    return next(value for value, found in zip(values, accuracy, strict=True) if found >= max(accuracy) - EQUAL)


def sorted_right(session: Rehearsal, judge: Judge) -> float:
    """Return the share of images in the class they are of, groups standing for hidden classes one to one."""
    pool, known = replace(session.pool, judge=judge), len(session.pool.table)
    found = new_classes(pool, session.first, n_novel=None)
    labels = nearest(as_points(pool.features), as_points(found.means)).numpy()
    right = labels == session.truth
    inside, hidden = labels >= known, session.truth >= known
    meaning = match(session.truth[hidden], np.where(inside, labels, -1)[hidden]) if hidden.any() else {}
    meaning.pop(-1, None)
    right[inside] = apply(meaning, labels[inside], missing=-1) == session.truth[inside] if inside.any() else False
    return float(right.mean()) if len(right) else 1.0
