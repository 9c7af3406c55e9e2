"""The report of a workspace: one HTML file that needs nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from metagcd.report.distributions import histogram_figure, reliability_figure
from metagcd.report.figures import svg_text
from metagcd.report.inline import inline_svg
from metagcd.report.map import map_figure
from metagcd.runs import write_atomic
from metagcd.workspace.catalogue import Catalogue
from metagcd.workspace.folder import Folder
from metagcd.workspace.summary import Told, told
from metagcd.workspace.thumbnails import Album

ROOM = 3_500_000
"""Characters that all pictures may take together: the page stays below five megabytes."""


def write_page(catalogue: Catalogue, folder: Folder, output: Path, *, session: int | None = None) -> Path:
    """Write the report about a session, the last one by default; return its path."""
    write_atomic(output, render(told(catalogue, folder, session), folder))
    return output


def render(found: Told, folder: Folder) -> str:
    """Return the text of the page."""
    environment = Environment(
        loader=PackageLoader("metagcd.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("workspace.html.j2").render(
        found=found,
        place=folder.path,
        album=Album(ROOM),
        facts=found.session.facts,
        moments=[_words(one) for one in found.course],
        figures=_figures(found),
    )


def _figures(found: Told) -> dict[str, str]:
    figures: dict[str, tuple[Figure, str]] = {
        "confidence": (histogram_figure(found.confidence, xlabel="confidence"), "Confidence of the images"),
        "novelty": (histogram_figure(found.novelty, xlabel="novelty"), "Novelty of the images"),
    }
    told_of = found.reliability
    if np.any(told_of.counts > 0):
        picture = reliability_figure(told_of.confidence, told_of.accuracy, told_of.counts)
        figures["reliability"] = picture, "Confidence stated and share right"
    if found.sample is not None:
        figures["map"] = map_figure(found.sample, known=found.known, names=found.names), "Map of the images"
    return {name: inline_svg(svg_text(figure), prefix=name, label=label) for name, (figure, label) in figures.items()}


def _words(moment: Any) -> tuple[str, ...]:
    values = (100 * moment.expected, moment.kept, moment.apart)
    shown = ("–" if np.isnan(value) else form.format(value) for value, form in zip(values, FORMS, strict=True))
    return str(moment.session), str(moment.recognised), *shown


FORMS = ("{:.1f} %", "{:.3f}", "{:.2f}")
