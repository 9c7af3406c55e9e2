"""Sort a session: known classes are recognised, earlier discoveries too, and what is left forms groups, or none."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int

from metagcd.cluster import nearest, prototypes
from metagcd.cluster.points import as_points
from metagcd.errors import InputError
from metagcd.types import Array
from metagcd.workspace.describing import described
from metagcd.workspace.grouping import FEWEST, Pool, extended, first_means
from metagcd.workspace.judge import BEYOND_DOUBT, SURE, Judge
from metagcd.workspace.nearness import Own, nearness
from metagcd.workspace.novel import new_classes, pooled
from metagcd.workspace.table import refined
from metagcd.workspace.telling import told_novelty
from metagcd.workspace.types import KNOWN, NEW, UNSURE, ClassTable, Count, Group, Scores, Sorted

RESAMPLES = 4
"""Parts of a session whose new classes are counted again, for the interval."""
SHARE = 0.8
"""Part of the images in each."""


def sort_session(
    features: Float[Array, "n d"], table: ClassTable, judge: Judge, *, n_novel: int | None, seed: int
) -> Sorted:
    """Sort the unit features of a session's images; `n_novel` is the number of new classes where that is known."""
    checked(features, table)
    if n_novel is not None and n_novel < 0:
        raise InputError(f"The number of new classes must be 0 or more; got {n_novel}.")
    if len(features) == 0:
        scores = judge.look(features, table)
        return Sorted(scores=scores, groups=(), count=Count(k=0, low=0, high=0), table=table)
    whole = Pool(features=features, novelty=np.ones(len(features)), table=table, judge=judge)
    first = judge.look(features, table)
    pool = replace(whole, novelty=first.novelty).rows(pooled(first, seed))
    found = new_classes(pool, first_means(pool, n_novel=n_novel, seed=seed), n_novel=n_novel)
    scores, found = outcome(whole, found, fewest=FEWEST if n_novel is None else 1)
    given = None if n_novel is None else Count(k=n_novel, low=n_novel, high=n_novel)
    return Sorted(
        scores=scores,
        groups=groups_of(features, scores, found, known=len(table)),
        count=given or counted(pool, len(found) - len(table), seed),
        table=recognised(features, scores, table, judge),
    )


def checked(features: Float[Array, "n d"], table: ClassTable) -> None:
    """Refuse features that are not finite, or of another width than those of the table."""
    if as_points(features).shape[1] != table.means.shape[1]:
        raise InputError(
            f"The features have {features.shape[1]} numbers, those of the classes {table.means.shape[1]}: "
            "use the encoder that the classes were learned with."
        )


def groups_of(features: Float[Array, "n d"], scores: Scores, found: ClassTable, *, known: int) -> tuple[Group, ...]:
    """Return the groups, of the images that are sure to belong."""
    own = np.where(scores.verdict == NEW, scores.place, -1)
    rows = [np.flatnonzero(own == place) for place in range(known, len(found))]
    return tuple(described(features, part, known + place, found, known) for place, part in enumerate(rows))


def recognised(features: Float[Array, "n d"], scores: Scores, table: ClassTable, judge: Judge) -> ClassTable:
    """Return the classes that were there, refined by the images that are theirs beyond doubt."""
    sure = (scores.verdict == KNOWN) & (scores.confidence >= BEYOND_DOUBT)
    return refined(table, features, scores.place, sure, narrowing=judge.narrowing)


def counted(pool: Pool, found: int, seed: int) -> Count:
    """Return the number of new classes, with the least and largest that parts of the session lead to."""
    numbers = [found]
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        rows = np.sort(rng.permutation(len(pool.novelty))[: round(SHARE * len(pool.novelty))])
        part = pool.rows(rows)
        numbers.append(
            len(new_classes(part, first_means(part, n_novel=None, seed=seed), n_novel=None)) - len(pool.table)
        )
    return Count(k=found, low=min(numbers), high=max(numbers))


def outcome(pool: Pool, found: ClassTable, *, fewest: int) -> tuple[Scores, ClassTable]:
    """Return what is said of all images when the new classes are known, and these, without those nobody belongs to."""
    known = len(pool.table)
    while True:
        found = followed(pool, found)
        scores = final_scores(pool, found)
        own = np.bincount(scores.place[scores.verdict == NEW], minlength=len(found))[known:]
        if (own >= fewest).all():
            order = np.argsort(-own, kind="stable")
            return _ordered(scores, order, known), found.rows(np.concatenate([np.arange(known), known + order]))
        kept: Int[Array, " g"] = np.flatnonzero(own >= fewest)
        found = found.rows(np.concatenate([np.arange(known), known + kept]))


def followed(pool: Pool, found: ClassTable) -> ClassTable:
    """Return the new classes with the statistics of all images of the session that are nearest to them."""
    known = len(pool.table)
    if len(found) == known:
        return found
    points = as_points(pool.features)
    labels = nearest(points, as_points(found.means)).numpy()
    inside = torch.from_numpy(np.flatnonzero(labels >= known))
    own = torch.from_numpy(labels)[inside] - known
    fresh, counts = prototypes(points[inside], own, n_classes=len(found) - known)
    means = np.where(counts.numpy()[:, None] > 0, fresh.numpy(), found.means[known:])
    return extended(pool, means, labels)


def final_scores(pool: Pool, found: ClassTable) -> Scores:
    """Return what is said of images beside known and new classes."""
    known, judge = len(pool.table), pool.judge
    if len(found) == 0:
        scores = judge.look(pool.features, found)
        return replace(scores, verdict=np.full(len(scores), UNSURE, dtype=np.int8))
    near = nearness(
        pool.features, found, temperature=judge.temperature, first=known, own=members(pool.features, found, known)
    )
    nowhere = told_novelty(judge, near, found.known[near.place])
    confidence = judge.confidence(nowhere, near.share)
    verdict = np.where(confidence >= SURE, np.where(near.place < known, KNOWN, NEW), UNSURE)
    return Scores(
        place=near.place,
        confidence=confidence,
        novelty=nowhere + (1 - nowhere) * near.beyond,
        verdict=verdict.astype(np.int8),
    )


def members(features: Float[Array, "n d"], found: ClassTable, known: int) -> Own:
    """Return which new class each image is among those of."""
    labels = nearest(as_points(features), as_points(found.means)).numpy()
    counts = found.counts[labels]
    stretch = (counts / np.maximum(counts - 1, 1)) ** 2
    return Own(place=np.where(labels >= known, labels, -1), stretch=stretch.astype(np.float64))


def _ordered(scores: Scores, order: Int[Array, " g"], known: int) -> Scores:
    """Return scores whose new classes are numbered in another order."""
    number = np.concatenate([np.arange(known), known + np.argsort(order)])
    return replace(scores, place=number[scores.place] if len(number) else scores.place)
