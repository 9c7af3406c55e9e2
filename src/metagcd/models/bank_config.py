"""How trunk outputs are kept for reuse, and where."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from metagcd.errors import InputError

VARIABLE, BUDGET_VARIABLE = "METAGCD_CACHE", "METAGCD_BANK_BUDGET"
BUDGET = 20.0
"""Disk that all banks together may take unless something else is said, in 10^9 bytes; our choice."""
BankDtype = Literal["bfloat16", "float16", "float32"]


@dataclass(frozen=True, kw_only=True)
class BankConfig:
    """Which views of an image are drawn once and shown again and again, so that the trunk sees each only once.

    Results depend on `views`, `dtype` and `redraw_every`; where the bank does not fit, the same views are seen anew.
    """

    use: Literal["auto", "on", "off"] = "auto"
    """`auto`: where the trunk has parameters, as soon as storing costs less than computing anew; `on`: always;
    `off`: never, and every epoch draws views of its own."""
    views: int = 8
    """Random views per image; an epoch shows two of them, and all pairs take turns."""
    dtype: BankDtype = "bfloat16"
    """Type in which trunk outputs are kept."""
    redraw_every: int = 0
    """Epochs after which views are drawn anew; 0: never."""
    RETIRED: ClassVar[Mapping[str, str]] = {
        "budget_gb": f"no result depends on it; use `metagcd run --bank-budget`, or {BUDGET_VARIABLE}"
    }

    def __post_init__(self) -> None:
        """Refuse numbers that name no bank."""
        if self.views < 2 or self.redraw_every < 0:
            raise InputError(
                "Of `bank`, `views` must be at least 2 and `redraw_every` not negative; got "
                f"{self.views} and {self.redraw_every}."
            )

    def redraw(self, epoch: int) -> int:
        """Return how often views have been drawn anew before this epoch."""
        return epoch // self.redraw_every if self.redraw_every else 0

    def redrawn_after(self, epoch: int, never: int) -> int:
        """Return the first later epoch with other views; `never` where views stay."""
        return (self.redraw(epoch) + 1) * self.redraw_every if self.redraw_every else never

    def pair(self, seed: int, epoch: int) -> tuple[int, int]:
        """Return the two views that an epoch shows."""
        pairs = view_pairs(self.views)
        return pairs[(seed + epoch) % len(pairs)]


def view_pairs(views: int) -> list[tuple[int, int]]:
    """Return all pairs of views 1..views, in the order of a tournament in which everybody meets everybody.

    Before any view comes again in another round, every other view was shown (the circle method).
    """
    ring = [*range(2, views + 1), *([0] if views % 2 else [])]  # 0: who meets nobody in this round
    half = (len(ring) + 1) // 2
    met: list[tuple[int, int]] = []
    for turn in range(len(ring)):
        seats = [1, *ring[turn:], *ring[:turn]]
        met += [(min(a, b), max(a, b)) for a, b in zip(seats[:half], reversed(seats[half:]), strict=True) if a and b]
    return met


def bank_root() -> Path:
    """Return the folder of all banks: METAGCD_CACHE, else ~/.cache/metagcd/bank."""
    return Path(os.environ.get(VARIABLE) or "~/.cache/metagcd/bank").expanduser()


def bank_budget(given: float | None = None) -> float:
    """Return how many 10^9 bytes all banks together may take: what is given, else METAGCD_BANK_BUDGET, else 20."""
    words = os.environ.get(BUDGET_VARIABLE, "")
    try:
        budget = given if given is not None else float(words) if words else BUDGET
    except ValueError:
        raise InputError(f"{BUDGET_VARIABLE} must be a number of gigabytes; got {words!r}.") from None
    if not budget >= 0:
        raise InputError(f"The budget of all banks must be 0 GB or more; got {budget:g}.")
    return budget
