"""New classes of a session: which images may be novel, and which groups of them are to be believed."""

import numpy as np
from jaxtyping import Float, Int

from metagcd.types import Array
from metagcd.workspace.grouping import FEWEST, UNLIKELY, Pool, grouping
from metagcd.workspace.types import ClassTable, Scores

BESIDE = 50
"""Recognised images of a class that groups are compared with, at most."""


def pooled(scores: Scores, seed: int) -> Int[Array, " m"]:
    """Return rows of the images that may be novel, and beside them of some of every class that was recognised."""
    order = np.random.default_rng(seed).permutation(len(scores))
    order = order[np.argsort(scores.place[order], kind="stable")]
    explained = order[scores.novelty[order] < UNLIKELY]
    place = scores.place[explained]
    rank = np.arange(len(place)) - np.searchsorted(place, place)
    chosen = np.concatenate([np.flatnonzero(scores.novelty >= UNLIKELY), explained[rank < BESIDE]])
    return np.sort(chosen)


def new_classes(pool: Pool, first: Float[Array, "g d"], *, n_novel: int | None) -> ClassTable:
    """Return the table with the new classes that the pool holds, sought from these first means."""
    found, known = grouping(pool, first, n_novel=n_novel), len(pool.table)
    counts = found.table.counts[known:]
    chosen = np.flatnonzero(counts >= (FEWEST if n_novel is None else 1))
    return found.table.rows(np.concatenate([np.arange(known), known + chosen]))
