"""Figures made of rows and counts; each is returned, none is shown."""

import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from metagcd.report.confusion import Confusion
from metagcd.report.strokes import BOUNDARY, FILL, FULL, INK, PAPER, stroke
from metagcd.report.words import plain, short
from metagcd.results import SCORES, Row, cell, pick
from metagcd.runs import write_atomic
from metagcd.types import Array

NUMBERED = 12
"""Up to so many classes the cells of a confusion matrix carry their percentages."""
NAMED = 25
"""Up to so many classes its rows and columns carry names, beyond that numbers."""

TITLE_ROOM = 0.9
"""Inches added to the height of matrices beside one another."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line with its spread (standard deviation over seeds; zeros for a single one)."""

    label: str
    x: Sequence[float] | Sequence[int]
    mean: Sequence[float]
    spread: Sequence[float]


def accuracy_figure(rows: Sequence[Row], *, partition: str = "initial", assignment: str = "global") -> Figure:
    """Draw accuracy after every session, one panel each for All, Old and New, one line per method and read-out."""
    shown = pick(rows, partition=partition, assignment=assignment)
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    panels: Sequence[Axes] = figure.subplots(1, 3, sharex=True, sharey=True)
    for panel, score in zip(panels, SCORES, strict=True):
        _draw(panel, score_curves(shown, score))
        dress(panel, score.capitalize(), "session", "accuracy in %" if score == "all" else "")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(figure, panels[0])
    return figure


def forgetting_figure(rows: Sequence[Row], *, assignment: str = "global") -> Figure:
    """Draw by how many points the accuracy on the classes of session 0 has fallen since session 0."""
    curves: list[Curve] = []
    for label, own in _lines(pick(rows, partition="initial", assignment=assignment)):
        start = {row.seed: row.old for row in own if row.session == 0}
        falls = [(row.session, start[row.seed] - row.old) for row in own if row.seed in start]
        curves.append(_curve(label, falls))
    return curve_figure(curves, xlabel="session", ylabel="forgotten since session 0, in points", whole=True)


def class_count_figure(rows: Sequence[Row], met: Mapping[int, int]) -> Figure:
    """Draw how many classes every read-out told apart after each session, beside how many there were (`met`)."""
    curves = [
        _curve(label, [(row.session, float(row.classes)) for row in own])
        for label, own in _lines(pick(rows, partition="initial", assignment="global"))
    ]
    figure = curve_figure(curves, xlabel="session", ylabel="classes told apart", whole=True)
    (panel,) = figure.axes
    for session, count in met.items():
        panel.hlines(count, session - 0.4, session + 0.4, color=INK, linewidth=1.2)
    return figure


def curve_figure(curves: Sequence[Curve], *, xlabel: str, ylabel: str, whole: bool = False) -> Figure:
    """Draw curves over a quantity such as a threshold or the number of classes; `whole` marks whole numbers alone."""
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    panel = figure.subplots()
    _draw(panel, curves)
    dress(panel, "", xlabel, ylabel)
    if whole:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(figure, panel)
    return figure


def confusion_figure(matrix: Confusion, *, known: int | None = None, names: Sequence[str] = ()) -> Figure:
    """Draw the shares of every class by cluster; red lines part known (above, left) from novel classes."""
    return confusion_figures({"": matrix}, known=known, names=names)


def confusion_figures(
    matrices: Mapping[str, Confusion], *, known: int | None = None, names: Sequence[str] = ()
) -> Figure:
    """Draw several confusion matrices beside one another, each under its title."""
    classes = max(matrix.shares.shape[0] for matrix in matrices.values())
    columns = max(matrix.shares.shape[1] for matrix in matrices.values())
    side = min(2.2 + 0.42 * classes, 6.8)
    width = side * max(1.0, columns / max(classes, 1)) * len(matrices)
    # Room for titles: square panels that fill the height push what is around them off the page.
    figure = Figure(figsize=(width, side + (TITLE_ROOM if len(matrices) > 1 else 0)), layout="constrained")
    panels: Sequence[Axes] = figure.subplots(1, len(matrices), squeeze=False)[0]
    for panel, (title, matrix) in zip(panels, matrices.items(), strict=True):
        _draw_confusion(panel, matrix.shares, known=known, names=names)
        dress(panel, plain(title), "cluster, by the class it is mapped to", "true class")
        panel.grid(visible=False)
    return figure


def save_figure(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png; the same figure gives the same bytes of SVG."""
    svg, png = stem.with_name(f"{stem.name}.svg"), stem.with_name(f"{stem.name}.png")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=200, facecolor=PAPER, metadata={"Software": None})
    write_atomic(svg, svg_text(figure, ground=PAPER))
    write_atomic(png, picture.getvalue())
    return svg, png


def svg_text(figure: Figure, *, ground: str = "none") -> str:
    """Return the figure as SVG with letters as text and nothing in it that changes from one time to the next."""
    text = io.StringIO()
    letters: dict[Any, Any] = {"svg.hashsalt": "metagcd", "svg.fonttype": "none", "font.family": "sans-serif"}
    with mpl.rc_context(letters), warnings.catch_warnings():
        # Letters stay text, so that whoever shows the figure brings the font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(text, format="svg", facecolor=ground, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def score_curves(rows: Sequence[Row], score: str) -> list[Curve]:
    """Return one curve over sessions per method and read-out."""
    return [_curve(label, [(row.session, getattr(row, score)) for row in own]) for label, own in _lines(rows)]


def _lines(rows: Sequence[Row]) -> list[tuple[str, tuple[Row, ...]]]:
    pairs = dict.fromkeys((row.method, row.readout) for row in rows)
    single = len({readout for _, readout in pairs}) == 1
    return [
        (method if single else f"{method}, {readout}", pick(rows, method=method, readout=readout))
        for method, readout in pairs
    ]


def _curve(label: str, points: Iterable[tuple[int, float]]) -> Curve:
    by_place: dict[int, list[float]] = {}
    for place, value in points:
        by_place.setdefault(place, []).append(value)
    cells = {place: cell(values) for place, values in sorted(by_place.items())}
    kept = {place: found for place, found in cells.items() if found.count}
    return Curve(
        label=label,
        x=tuple(kept),
        mean=tuple(found.mean for found in kept.values()),
        spread=tuple(found.spread for found in kept.values()),
    )


def _draw(panel: Axes, curves: Sequence[Curve]) -> None:
    for place, curve in enumerate(curves):
        how = stroke(place)
        mean, spread = np.asarray(curve.mean, dtype=np.float64), np.asarray(curve.spread, dtype=np.float64)
        panel.fill_between(curve.x, mean - spread, mean + spread, color=how.colour, alpha=0.2, linewidth=0)
        panel.plot(
            curve.x,
            mean,
            color=how.colour,
            linestyle=how.dashes,
            marker=how.marker,
            markersize=5,
            linewidth=1.8,
            label=plain(curve.label),
        )


def _draw_confusion(panel: Axes, shares: Float[Array, "c k"], *, known: int | None, names: Sequence[str]) -> None:
    classes, columns = shares.shape
    named = len(names) >= classes and classes <= NAMED
    labels = list(names[:classes]) if named else [str(place) for place in range(classes)]
    panel.imshow(_shaded(shares), interpolation="nearest", aspect="equal")
    if classes <= NUMBERED:
        _number(panel, shares)
    every = -(-classes // NAMED)
    panel.set_yticks(range(0, classes, every), [short(labels[place]) for place in range(0, classes, every)])
    marks = [*range(0, classes, every), *range(classes, columns)] if every == 1 else [*range(0, classes, every)]
    words = [short(labels[place]) if place < classes else "+" for place in marks]
    panel.set_xticks(marks, words, rotation=90 if max(map(len, words), default=0) > 3 else 0)
    if known is not None and 0 < known < classes:
        for line in (panel.axhline, panel.axvline):
            line(known - 0.5, color=BOUNDARY, linewidth=1.8)


def dress(panel: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Give a panel its words, in the ink of the page around it, and a faint grid."""
    panel.set_title(title, color=INK, fontsize=11)
    panel.set_xlabel(xlabel, color=INK)
    panel.set_ylabel(ylabel, color=INK)
    panel.tick_params(colors=INK)
    panel.grid(visible=True, color=INK, alpha=0.18, linewidth=0.6)
    panel.spines[:].set_color(INK)
    panel.patch.set_visible(False)


def _legend(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    if labels:
        columns = 1 if max(map(len, labels)) > 40 else min(len(labels), 3)
        figure.legend(
            handles, labels, loc="outside lower center", ncols=columns, labelcolor=INK, frameon=False, handlelength=3
        )


def _shaded(shares: Float[Array, "c k"]) -> Float[Array, "c k 4"]:
    """Return colours whose opacity is the share, so that an empty cell shows the paper, light or dark."""
    picture = np.empty((*shares.shape, 4))
    picture[..., :3] = to_rgb(FILL)
    picture[..., 3] = shares
    return picture


def _number(panel: Axes, shares: Float[Array, "c k"]) -> None:
    for row, column in zip(*np.nonzero(shares >= 0.005), strict=True):
        share = float(shares[row, column])
        colour = PAPER if share > FULL else INK
        panel.text(float(column), float(row), f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=8)
