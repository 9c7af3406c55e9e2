"""What a person is told of a batch: a decision for every image, those met before included, and counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from metagcd.workspace.batch import Batch, Fresh
from metagcd.workspace.book import ClassState
from metagcd.workspace.catalogue import Catalogue
from metagcd.workspace.results import Decisions, Found
from metagcd.workspace.types import KNOWN, NEW, UNSURE, Scores, Sorted


def decisions(
    catalogue: Catalogue, batch: Batch, fresh: Fresh, scores: Scores | None, states: Sequence[ClassState]
) -> Decisions:
    """Return what holds of every image of the batch; `states` are the classes that the scores' places count."""
    number, ids = len(batch), tuple(state.id for state in states)
    place, verdict = np.full(number, -1, dtype=np.int64), np.full(number, UNSURE, dtype=np.int8)
    confidence, novelty = np.zeros(number), np.zeros(number)
    own = np.flatnonzero(fresh.row_of >= 0)
    if scores is not None and len(own):
        of_each = scores.rows(fresh.row_of[own])
        place[own], verdict[own] = of_each.place, of_each.verdict
        confidence[own], novelty[own] = of_each.confidence, of_each.novelty
    met = np.flatnonzero(fresh.seen >= 0)
    where = {one: row for row, one in enumerate(ids)}
    for row, (one, *rest) in zip(met.tolist(), catalogue.decided(fresh.seen[met]), strict=True):
        place[row] = where.get(one or "", -1)
        verdict[row], confidence[row], novelty[row] = rest
    return Decisions(
        paths=batch.paths,
        ids=ids,
        names=tuple(state.name for state in states),
        place=place,
        verdict=verdict,
        confidence=confidence,
        novelty=novelty,
    )


def tally(batch: Batch, fresh: Fresh, scores: Scores | None, states: Sequence[ClassState]) -> dict[str, Any]:
    """Return how many images were given, met before, and decided of in which way."""
    rejected = np.array([state.status == "rejected" for state in states] + [False], dtype=np.bool_)
    counts: dict[str, int] = dict.fromkeys(("known", "unsure", "new", "rejected"), 0)
    if scores is not None:
        every = scores.rows(fresh.row_of[fresh.row_of >= 0])
        out = (every.verdict == KNOWN) & rejected[np.minimum(every.place, len(states))]
        for name, code in (("known", KNOWN), ("unsure", UNSURE), ("new", NEW)):
            counts[name] = int(((every.verdict == code) & ~out).sum())
        counts["rejected"] = int(out.sum())
    return {
        "images": len(batch),
        "met before": int((fresh.seen >= 0).sum()),
        "there twice": int((fresh.row_of >= 0).sum()) - len(fresh.rows),
        **counts,
        "skipped": len(batch.skipped),
    }


def born(found: Sorted, ids: Sequence[str], session: int) -> tuple[ClassState, ...]:
    """Return the classes that a session brought."""
    return tuple(
        ClassState(
            id=one,
            name=one,
            known=False,
            status="alive",
            born=session,
            mean=np.asarray(group.mean, dtype=np.float32),
            spread=float(group.spread),
            count=len(group.rows),
            nearest=found.table.ids[group.nearest] if group.nearest >= 0 else None,
            similarity=float(group.nearest_similarity),
            cohesion=float(group.cohesion),
        )
        for one, group in zip(ids, found.groups, strict=True)
    )


def described(batch: Batch, fresh: Fresh, found: Sorted, classes: Sequence[ClassState]) -> tuple[Found, ...]:
    """Return what is shown of the classes that a session brought."""
    paths, size = batch.paths, np.bincount(fresh.row_of[fresh.row_of >= 0], minlength=len(fresh.rows))
    return tuple(
        Found(
            id=state.id,
            images=int(size[group.rows].sum()),
            nearest=state.nearest,
            similarity=state.similarity or 0.0,
            cohesion=state.cohesion or 0.0,
            representatives=tuple(paths[int(fresh.rows[row])] for row in group.representatives),
        )
        for state, group in zip(classes, found.groups, strict=True)
    )
