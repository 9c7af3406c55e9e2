"""`metagcd table --compare`: is the first run better than the others, seed by seed?"""

from collections.abc import Sequence
from typing import Literal

from metagcd.errors import InputError
from metagcd.results import SCORES, Row, Table, pick
from metagcd.runs import RunDirectory


def pair_table(
    runs: Sequence[RunDirectory],
    *,
    partition: Literal["initial", "previous"] = "initial",
    assignment: Literal["global", "split"] = "global",
) -> Table:
    """Return how far the first run is above each of the others, by session and read-out, over the seeds they share."""
    from metagcd.report.records import read_records

    if len(runs) < 2:
        raise InputError("A comparison needs two run directories or more; the first is compared with each other one.")
    first, *others = (
        (record.label, pick(record.rows, partition=partition, assignment=assignment)) for record in read_records(runs)
    )
    lines = [line for name, rows in others for line in _lines(first, (name, rows))]
    caption = (
        f"Difference in points of {first[0]} minus another run over the same seeds and splits, with the two-sided "
        f"p-values of the paired t test and of flipping signs: partition {partition}, assignment {assignment}."
    )
    note = "With n seeds no p-value of flipped signs is below 2 / 2^n: fewer than 6 seeds cannot reach 0.05."
    header = ("minus", "read-out", "session", "seeds", "score", "difference", "p (t)", "p (signs)")
    return Table(caption, header, tuple(lines), (note,))


def _lines(first: tuple[str, Sequence[Row]], other: tuple[str, Sequence[Row]]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    mine = dict.fromkeys((row.readout, row.session) for row in first[1])
    theirs = {(row.readout, row.session) for row in other[1]}
    for readout, session in (key for key in mine if key in theirs):
        pairs = _pairs(first, other, readout, session)
        lines += [
            (other[0], readout, str(session), str(len(pairs)), score.capitalize(), *_tested(pairs, score))
            for score in SCORES
        ]
    if not lines:
        raise InputError(f"{first[0]} and {other[0]} share no session and read-out.")
    return lines


def _pairs(
    first: tuple[str, Sequence[Row]], other: tuple[str, Sequence[Row]], readout: str, session: int
) -> list[tuple[Row, Row]]:
    """Return the rows of the seeds that both have; refuse those of another split."""
    one, two = ({row.seed: row for row in pick(rows, readout=readout, session=session)} for _, rows in (first, other))
    pairs = [(one[seed], two[seed]) for seed in sorted(one.keys() & two.keys())]
    if not pairs:
        raise InputError(f"{first[0]} and {other[0]} share no seed.")
    if any(a.protocol != b.protocol for a, b in pairs):
        raise InputError(f"{first[0]} and {other[0]} had different protocols under the same seed; they do not compare.")
    return pairs


def _tested(pairs: Sequence[tuple[Row, Row]], score: str) -> tuple[str, str, str]:
    import numpy as np

    from metagcd.evaluate import compare

    values = np.array([(getattr(a, score), getattr(b, score)) for a, b in pairs], dtype=np.float64)
    values = values[~np.isnan(values).any(axis=1)]
    if not len(values):
        return "-", "-", "-"
    found = compare(values[:, 0], values[:, 1])
    p_value = "-" if np.isnan(found.t_p_value) else f"{found.t_p_value:.3f}"
    return f"{found.difference:+.1f}", p_value, f"{found.sign_flip_p_value:.3f}"
