"""A map of features: images that are alike lie together, known classes muted, novel ones marked."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from metagcd.report.figures import NAMED
from metagcd.report.records import Sample
from metagcd.report.strokes import GROUND, INK, stroke
from metagcd.report.words import short
from metagcd.types import Array

PERPLEXITY = 30.0
"""About how many neighbours an image is kept near to; fewer where there are few images."""
ROUNDS = 500
"""Steps of gradient descent."""
FEWEST = 10
"""Images below which neighbours say nothing and the two main directions are drawn as they are."""
LISTED = 12
"""Up to so many novel classes the legend has each with its mark."""
MUTED = 0.45
"""Opacity of known classes."""


def map_figure(sample: Sample, *, known: int | None = None, names: Sequence[str] = ()) -> Figure:
    """Draw the sample's map: dots for known classes, large edged marks for novel ones, names at their medians."""
    figure = Figure(figsize=(7.6, 6.2), layout="constrained")
    panel: Axes = figure.subplots()
    places = layout(sample.points)
    classes: list[int] = np.unique(sample.truth).tolist()
    first_novel = max(classes, default=0) + 1 if known is None else known
    for label in classes:
        own = places[sample.truth == label]
        if label < first_novel:
            panel.scatter(own[:, 0], own[:, 1], s=11, color=stroke(label).colour, alpha=MUTED, linewidths=0)
        else:
            how = stroke(label - first_novel)
            panel.scatter(
                own[:, 0],
                own[:, 1],
                s=34,
                marker=how.marker,
                color=how.colour,
                edgecolors=INK,
                linewidths=0.8,
                alpha=0.9,
                zorder=3,
            )
    words = {label: short(names[label]) if label < len(names) else str(label) for label in classes}
    _name(panel, [(words[label], np.median(places[sample.truth == label], axis=0)) for label in classes])
    _bare(panel)
    _explain(figure, {label: words[label] for label in classes if label >= first_novel}, first_novel)
    return figure


def layout(points: Float[Array, "n d"]) -> Float[Array, "n 2"]:
    """Place images on a plane by t-SNE (van der Maaten and Hinton, 2008), beginning with their first two columns.

    Columns are to be in the order of their variance. The same points give the same places again.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    values = points.astype(np.float32)
    start = np.zeros((len(values), 2), dtype=np.float32)
    start[:, : values.shape[1]] = values[:, :2]
    spread = float(start[:, 0].std()) if len(values) else 0.0
    if len(values) < FEWEST or spread == 0:
        return start
    # Several threads would add up in another order each time.
    with threadpool_limits(limits=1):
        method = TSNE(
            init=start * np.float32(1e-4 / spread),  # pyright: ignore[reportArgumentType]  # an array is one of its forms
            perplexity=min(PERPLEXITY, (len(values) - 1) / 3),
            max_iter=ROUNDS,
            random_state=0,
        )
        return np.asarray(method.fit_transform(values))


def _name(panel: Axes, medians: Sequence[tuple[str, Float[Array, " 2"]]]) -> None:
    size = 9.0 if len(medians) <= NAMED else 6.5
    paper = {"boxstyle": "round,pad=0.12", "facecolor": GROUND, "alpha": 0.75, "linewidth": 0}
    for word, (x, y) in medians:
        panel.text(float(x), float(y), word, ha="center", va="center", color=INK, fontsize=size, bbox=paper, zorder=4)


def _bare(panel: Axes) -> None:
    panel.set_aspect("equal", adjustable="datalim")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.spines[:].set_visible(False)
    panel.patch.set_visible(False)


def _explain(figure: Figure, novel: dict[int, str], first_novel: int) -> None:
    """Put a legend below: known classes as one, and every novel class where there are few."""
    handles = [_mark("o", INK, edge=False, label="known classes")] if first_novel > 0 else []
    if len(novel) > LISTED:
        handles.append(_mark("s", "none", edge=True, label="novel classes"))
    else:
        for label, word in novel.items():
            how = stroke(label - first_novel)
            handles.append(_mark(how.marker, how.colour, edge=True, label=f"novel: {word}"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(4, max(1, len(handles))), labelcolor=INK, frameon=False
    )


def _mark(marker: str, colour: str, *, edge: bool, label: str) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=6 if edge else 3.5,
        markerfacecolor=colour,
        markeredgecolor=INK if edge else "none",
        markeredgewidth=0.8,
        alpha=1.0 if edge else MUTED,
        label=label,
    )
