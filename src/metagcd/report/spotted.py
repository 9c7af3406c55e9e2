"""Known or novel: how well runs told novel images from known ones, and the table of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from metagcd.results import Table, cell


@dataclass(frozen=True)
class Spotted:
    """How well the novel images of a session were told from the known ones, in percent."""

    run: str
    method: str
    seed: int
    session: int
    auroc: float
    """Chance that a novel image looks more novel than a known one."""
    fpr95: float
    """Known images taken for novel where 95 % of the novel ones are found."""


def spotted_table(found: Sequence[Spotted]) -> Table:
    """Return one line per method: AUROC and FPR95 of every session, mean and spread over seeds."""
    sessions = sorted({one.session for one in found})
    lines = [
        (
            method,
            *(
                cell(getattr(one, score) for one in found if (one.method, one.session) == (method, session)).text()
                for session in sessions
                for score in ("auroc", "fpr95")
            ),
        )
        for method in dict.fromkeys(one.method for one in found)
    ]
    columns = tuple(f"{score} {session}" for session in sessions for score in ("AUROC", "FPR95"))
    caption = (
        "Novel images of a session told from those of classes met before, in percent: area under the curve (larger is "
        "better) and known images taken for novel where 95 % of the novel ones are found (mean ± standard deviation)."
    )
    return Table(caption, ("method", *columns), tuple(lines))
