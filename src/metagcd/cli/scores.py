"""`metagcd table --scores`: how far clusters agree with classes, from the answers that runs keep."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from metagcd.errors import InputError
from metagcd.results import Table, cell
from metagcd.runs import RunDirectory


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far the clusters of one read-out agree with the classes after a session, in percent."""

    run: str
    method: str
    seed: int
    session: int
    readout: str
    nmi: float
    """Normalised mutual information."""
    ari: float
    """Adjusted Rand index."""


def agreements(runs: Iterable[RunDirectory]) -> tuple[Agreement, ...]:
    """Return the agreement of every read-out after every session whose answers were kept."""
    from metagcd.evaluate import adjusted_rand_index, normalised_mutual_information
    from metagcd.report.records import read_answers

    found = tuple(
        Agreement(
            run=run.name,
            method=method,
            seed=seed,
            session=session,
            readout=answers.readout,
            nmi=100 * normalised_mutual_information(answers.truth, answers.predicted),
            ari=100 * adjusted_rand_index(answers.truth, answers.predicted),
        )
        for run in runs
        for method, seed, session in dict.fromkeys((row.method, row.seed, row.session) for row in run.rows())
        for answers in read_answers(run, seed, session)
    )
    if not found:
        raise InputError("These runs kept no answers (seed-*/session-*.npz), which the scores are made of.")
    return found


def agreement_table(found: Sequence[Agreement]) -> Table:
    """Return one line per method and read-out: both scores of every session, mean and spread over seeds."""
    sessions = sorted({one.session for one in found})
    lines: list[tuple[str, ...]] = []
    for method, readout in dict.fromkeys((one.method, one.readout) for one in found):
        own = [one for one in found if (one.method, one.readout) == (method, readout)]
        cells = (
            cell(score(one) for one in own if one.session == session).text()
            for session in sessions
            for score in (_nmi, _ari)
        )
        lines.append((method, readout, *cells))
    columns = tuple(f"{name} {session}" for session in sessions for name in ("NMI", "ARI"))
    caption = (
        "Agreement of clusters with classes in percent after each session: normalised mutual information and "
        "adjusted Rand index (mean ± standard deviation over seeds)."
    )
    return Table(caption, ("method", "read-out", *columns), tuple(lines))


def agreements_to_json(found: Iterable[Agreement]) -> str:
    """Return JSON lines."""
    return "".join(json.dumps(asdict(one)) + "\n" for one in found)


def _nmi(one: Agreement) -> float:
    return one.nmi


def _ari(one: Agreement) -> float:
    return one.ari
