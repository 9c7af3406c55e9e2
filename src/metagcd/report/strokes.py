"""How lines are told apart: colour, dashes and markers together, on light and on dark paper."""

from dataclasses import dataclass
from typing import Literal

INK = "#1c2024"
"""Text and axes; inside a page they take the colour of the text around them instead."""
PAPER = "#ffffff"
"""Ground of figures that stand alone, so that they read the same on any page."""
BOUNDARY = "#e5484d"
"""Red of the line between known and novel."""
FILL = "#2563eb"
"""Blue of a full cell; lighter cells let the paper shine through."""
GROUND = "#fdfdfe"
"""Ground of words on a figure; inside a page it is the colour of the page."""
FULL = 0.8
"""Share from which on figures inside a cell are light: there dark ink would fall below a contrast of 4.5."""

Dashes = Literal["solid", "dashed", "dashdot", "dotted"] | tuple[int, tuple[int, ...]]

COLOURS = ("#0078b8", "#d55e00", "#00946b", "#b5608f", "#8a6fd1", "#a07800")
DASHES: tuple[Dashes, ...] = ("solid", "dashed", "dashdot", "dotted", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True)
class Stroke:
    """How one line is drawn."""

    colour: str
    dashes: Dashes
    marker: str


def stroke(place: int) -> Stroke:
    """Return the stroke of the line at this place; 210 lines go by before one comes again."""
    return Stroke(COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)])
