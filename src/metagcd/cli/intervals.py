"""`metagcd table --intervals`: how far scores would move with other test images of the same classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from metagcd.errors import InputError
from metagcd.results import Table
from metagcd.runs import RunDirectory

if TYPE_CHECKING:
    from metagcd.protocol import Protocol
    from metagcd.report.records import Answers
    from metagcd.types import Array


def interval_table(
    runs: Sequence[RunDirectory],
    *,
    partition: Literal["initial", "previous"] = "initial",
    assignment: Literal["global", "split"] = "global",
) -> Table:
    """Return All/Old/New after the last session of every seed with their 95 % intervals.

    Test images are drawn again with replacement; the map from clusters to classes, found once on all of them, is held.
    """
    from metagcd.report.records import read_records

    lines: list[tuple[str, ...]] = []
    for record in read_records(runs):
        for answers in record.answers:
            old = _old(record.protocols.get(answers.seed), answers, partition)
            cells = _cells(answers, old, assignment)
            lines.append((record.label, answers.readout, str(answers.seed), str(answers.session), *cells))
    if not lines:
        raise InputError("These runs kept no answers (seed-*/session-*.npz), which intervals are made of.")
    caption = (
        f"Accuracy in percent after the last session with 95 % intervals, the test images drawn again 1000 times: "
        f"partition {partition}, assignment {assignment}."
    )
    return Table(caption, ("method", "read-out", "seed", "session", "All", "Old", "New"), tuple(lines))


def _cells(answers: "Answers", old: "Array", assignment: Literal["global", "split"]) -> tuple[str, str, str]:
    import numpy as np

    from metagcd.evaluate import bootstrap
    from metagcd.evaluate.accuracy import percent, right_under

    right = right_under(answers.truth, answers.predicted, old, assignment=assignment)

    def cell(part: "Array") -> str:
        inside = right[part]
        if not len(inside):
            return "-"
        found = bootstrap(lambda rows: percent(inside[rows]), len(inside), seed=0)
        return f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"

    return cell(np.ones(len(old), dtype=bool)), cell(old), cell(~old)


def _old(protocol: "Protocol | None", answers: "Answers", partition: Literal["initial", "previous"]) -> "Array":
    if protocol is None:
        raise InputError("The split was not kept with this run, so that old classes cannot be told from new ones.")
    first = partition == "initial" or answers.session == 0
    return answers.truth < len(protocol.known if first else protocol.sessions[answers.session - 1].known)
