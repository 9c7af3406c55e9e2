"""Fit a judge: everything that later decisions lean on, from the images of session 0 alone."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from metagcd.cluster.points import as_points
from metagcd.errors import InputError
from metagcd.types import Array
from metagcd.workspace.calibration import PRIOR, Examples, chosen_temperature, examples
from metagcd.workspace.judge import BEYOND_DOUBT, EDGE, SURE, Judge, logit
from metagcd.workspace.rehearsal import GRID, Taught, rehearsed
from metagcd.workspace.reliability import reliability
from metagcd.workspace.separation import flatness_of_classes
from metagcd.workspace.table import table_of

STEEP = 10.0
"""Rise of the logit with the logarithm of the squared distance where no class can be hidden; about what is found on
features of pretrained networks."""
USUAL = 0.95
"""Share of known images that are called known where no class can be hidden."""
LEVELS = 33
"""Points that the distribution of the novelty of known images is kept by."""
FEW = 10
"""Fewest cases of each kind that a curve is fitted to."""


def fit_judge(
    features: Float[Array, "n d"],
    labels: Int[Array, " n"],
    held_out_features: Float[Array, "m d"],
    held_out_labels: Int[Array, " m"],
    *,
    seed: int,
) -> Judge:
    """Calibrate on images of session 0 that its training did not see; labels are places in the table of classes.

    Hiding classes in turn tells how new images look. Without held-out images the training images stand in, which look
    nearer to their classes than fresh ones do.
    """
    classes = int(labels.max(initial=-1)) + 1
    table = table_of(features, labels, tuple(str(place) for place in range(classes)))
    seen, own = (held_out_features, held_out_labels) if len(held_out_labels) else (features, labels)
    as_points(seen)
    if not 0 <= own.min() <= own.max() < classes:
        raise InputError("Held-out images have classes that no training image of session 0 has.")
    temperature = chosen_temperature(seen, own, table, seed=seed)
    cases = examples(seen, own, table, temperature=temperature, seed=seed)
    both = [np.concatenate(pair) for pair in ((features, held_out_features), (labels, held_out_labels))]
    flatness = flatness_of_classes(both[0], both[1], seed=seed)
    half = np.random.default_rng(seed).random(len(cases.novel)) < 0.5
    first, second = (_fitted(cases.rows(part), temperature, flatness) for part in (half, ~half))
    stated = np.where(half, _confidence(second, cases), _confidence(first, cases))
    judge = _fitted(cases, temperature, flatness)
    judge = rehearsed(judge, Taught(features, labels, seen, own), seed=seed)
    return replace(judge, reliability=reliability(stated, cases.right, cases.weights))


def _fitted(cases: Examples, temperature: float, flatness: float) -> Judge:
    """Fit novelty, then confidence, then what sure images look like."""
    offset, (reach, depth, margin) = _novelty_curve(cases)
    judge = Judge(
        offset=offset,
        reach=reach,
        depth=depth,
        margin=margin,
        temperature=temperature,
        slope=1.0,
        shift=0.0,
        prior=PRIOR,
        known_levels=(),
        novel_level=0.0,
        novel_spread=1.0,
        narrowing=1.0,
        apart=GRID["apart"][0],
        alike=GRID["alike"][0],
        caution=GRID["caution"][0],
        flatness=flatness,
        reliability=UNTOLD,
    )
    slope, shift = _platt(logit((1 - judge.novelty(cases.near)) * cases.near.share), cases)
    level = judge.level(cases.near)
    known, novel = level[~cases.novel], level[cases.novel]
    judge = replace(
        judge,
        slope=slope,
        shift=shift,
        known_levels=tuple(np.quantile(known, (np.arange(LEVELS) + 0.5) / LEVELS).tolist()),
        novel_level=float(novel.mean()) if len(novel) else float(known.max()),
        novel_spread=float(novel.std()) + EDGE if len(novel) else float(known.std()) + EDGE,
    )
    return replace(judge, narrowing=_narrowing(judge, cases))


UNTOLD = reliability(np.zeros(0), np.zeros(0, dtype=np.bool_))


def _novelty_curve(cases: Examples) -> tuple[float, tuple[float, float, float]]:
    """Return the logistic curve of novelty, which may only rise with distance and only fall with the margin."""
    from sklearn.linear_model import LogisticRegression

    if min(int(cases.novel.sum()), int((~cases.novel).sum())) < FEW:
        return _steep(cases)
    signs = np.array([1.0, 1.0, -1.0])
    used = np.ones(3, dtype=np.bool_)
    while used.any():
        columns = (cases.columns * signs)[:, used]
        curve = LogisticRegression(C=10.0, max_iter=1000).fit(columns, cases.novel, sample_weight=cases.weights)
        found = np.asarray(curve.coef_[0], dtype=np.float64)
        if (found >= 0).all():
            weights = np.zeros(3)
            weights[used] = found
            reach, depth, margin = (float(value) for value in weights * signs)
            return float(curve.intercept_[0]), (reach, depth, margin)
        used[np.flatnonzero(used)[found < 0]] = False
    return _steep(cases)


def _steep(cases: Examples) -> tuple[float, tuple[float, float, float]]:
    """Return a curve that calls the usual share of known images known."""
    known = cases.near.depth[~cases.novel]
    level = float(np.quantile(known, USUAL)) if len(known) else 0.0
    return float(logit(1 - SURE)) - STEEP * level, (0.0, STEEP, 0.0)


def _platt(level: Float[Array, " n"], cases: Examples) -> tuple[float, float]:
    """Return slope and shift of the logit of the confidence (Platt, 1999); unchanged where too little is told."""
    from sklearn.linear_model import LogisticRegression

    if min(int(cases.right.sum()), int((~cases.right).sum())) < FEW:
        return 1.0, 0.0
    curve = LogisticRegression(C=10.0, max_iter=1000).fit(level[:, None], cases.right, sample_weight=cases.weights)
    slope = float(curve.coef_[0, 0])
    return (slope, float(curve.intercept_[0])) if slope > 0 else (1.0, 0.0)


def _confidence(judge: Judge, cases: Examples) -> Float[Array, " n"]:
    return judge.confidence(judge.novelty(cases.near), cases.near.share)


def _narrowing(judge: Judge, cases: Examples) -> float:
    """Return how much nearer to their means sure images lie than all images that are right."""
    fits: Bool[Array, " n"] = cases.right
    sure = fits & (_confidence(judge, cases) >= BEYOND_DOUBT)
    if not sure.any():
        return 1.0
    squares = np.exp(cases.near.depth)
    return float(np.clip(squares[sure].mean() / squares[fits].mean(), EDGE, 1.0))
