"""Figures that others printed, kept apart from ours."""

import tomllib
from dataclasses import dataclass

from metagcd.experiment.presets import FOLDER

Scores = tuple[float, ...]


@dataclass(frozen=True)
class Figures:
    """All, Old and New after each session, and their averages, as printed; empty where they are not."""

    sessions: tuple[Scores, ...]
    average: Scores = ()


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a table of a paper gives for a data set."""

    source: str
    protocol: str
    """The preset of the protocol that they were measured under."""
    rows: dict[str, Figures]


def published(dataset: str, suite: str) -> Published | None:
    """Return the figures that the paper prints for a suite on a data set; None where it prints none."""
    file = FOLDER.joinpath("published", f"{dataset}.toml")
    if not file.is_file():
        return None
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    if suite not in table:
        return None
    rows = {
        name: Figures(tuple(tuple(scores) for scores in row["sessions"]), tuple(row.get("average", ())))
        for name, row in table[suite]["rows"].items()
    }
    return Published(source=table[suite]["source"], protocol=table["protocol"], rows=rows)
