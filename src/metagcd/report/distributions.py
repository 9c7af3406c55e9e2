"""Figures of how probabilities are spread, and whether they can be taken at their word."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from metagcd.report.figures import dress
from metagcd.report.strokes import INK, stroke
from metagcd.report.words import plain
from metagcd.types import Array

BINS = 20
"""Bins of a histogram over [0, 1]."""


def histogram_figure(groups: Mapping[str, Float[Array, " _"]], *, xlabel: str) -> Figure:
    """Draw how many images of each group have which probability, as stacked bars; hatches tell groups apart in grey."""
    figure = Figure(figsize=(5.6, 3.2), layout="constrained")
    panel: Axes = figure.subplots()
    edges = np.linspace(0, 1, BINS + 1)
    below = np.zeros(BINS)
    for place, (name, values) in enumerate(groups.items()):
        counts, _ = np.histogram(values, edges)
        panel.bar(
            edges[:-1],
            counts,
            width=1 / BINS,
            bottom=below,
            align="edge",
            color=stroke(place).colour,
            edgecolor=INK,
            linewidth=0.4,
            hatch=("", "///", "...")[place % 3],
            alpha=0.8,
            label=plain(name),
        )
        below += counts
    dress(panel, "", xlabel, "images")
    if groups:
        handles, labels = panel.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, labelcolor=INK, frameon=False)
    return figure


def reliability_figure(
    confidence: Float[Array, " b"], accuracy: Float[Array, " b"], counts: Int[Array, " b"]
) -> Figure:
    """Draw the share that was right over the confidence that was stated; marks grow with the number of cases."""
    figure = Figure(figsize=(4.2, 3.6), layout="constrained")
    panel: Axes = figure.subplots()
    filled = counts > 0
    panel.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="dashed")
    panel.plot(confidence[filled], accuracy[filled], color=stroke(0).colour, linewidth=1.4)
    size = 20 + 120 * counts[filled] / max(int(counts.max(initial=1)), 1)
    panel.scatter(
        confidence[filled], accuracy[filled], s=size, color=stroke(0).colour, edgecolors=INK, linewidths=0.6, zorder=3
    )
    panel.set_xlim(-0.03, 1.03)
    panel.set_ylim(-0.03, 1.03)
    dress(panel, "", "confidence stated", "share that was right")
    return figure
