"""`metagcd table --scores`: how far clusters agree with classes, and novel images are told from known ones."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from metagcd.errors import InputError
from metagcd.results import Table, cell
from metagcd.runs import RunDirectory

NOVEL = ("auroc", "fpr95")
TOLD = (
    "AUROC and FPR95: novel images of the session told from those of classes met before, whatever the read-out, by how "
    "far they are from the known class means; area under the curve, and known images taken for novel where 95 % of the "
    "novel ones are found."
)


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
    auroc: float = math.nan
    """Chance that a novel image looks more novel than a known one; of the learner, whatever the read-out."""
    fpr95: float = math.nan
    """Known images taken for novel where 95 % of the novel ones are found."""


def agreements(runs: Iterable[RunDirectory]) -> tuple[Agreement, ...]:
    """Return the agreement of every read-out after every session whose answers were kept."""
    found = tuple(one for run in runs for one in _of_run(run))
    if not found:
        raise InputError("These runs kept no answers (seed-*/session-*.npz), which the scores are made of.")
    return found


def _of_run(run: RunDirectory) -> Iterator[Agreement]:
    from metagcd.evaluate import adjusted_rand_index, normalised_mutual_information
    from metagcd.report.records import read_answers, read_spotted

    rows = run.rows()
    spotted = {(one.seed, one.session): one for one in read_spotted(run, rows)}
    for method, seed, session in dict.fromkeys((row.method, row.seed, row.session) for row in rows):
        novel = spotted.get((seed, session))
        for answers in read_answers(run, seed, session):
            yield Agreement(
                run=run.name,
                method=method,
                seed=seed,
                session=session,
                readout=answers.readout,
                nmi=100 * normalised_mutual_information(answers.truth, answers.predicted),
                ari=100 * adjusted_rand_index(answers.truth, answers.predicted),
                auroc=math.nan if novel is None else novel.auroc,
                fpr95=math.nan if novel is None else novel.fpr95,
            )


def agreement_table(found: Sequence[Agreement]) -> Table:
    """Return one line per method and read-out: the scores of every session, mean and spread over seeds."""
    sessions = sorted({one.session for one in found})
    # Only where some learner of the table told known from novel, and never in session 0, which has nothing novel.
    told = {one.session for one in found if not math.isnan(one.auroc)}
    shown = [(session, score) for session in sessions for score in ("nmi", "ari", *(NOVEL if session in told else ()))]
    lines: list[tuple[str, ...]] = []
    for method, readout in dict.fromkeys((one.method, one.readout) for one in found):
        own = [one for one in found if (one.method, one.readout) == (method, readout)]
        cells = (cell(getattr(one, score) for one in own if one.session == session).text() for session, score in shown)
        lines.append((method, readout, *cells))
    columns = tuple(f"{score.upper()} {session}" for session, score in shown)
    caption = (
        "Agreement of clusters with classes in percent after each session: normalised mutual information and "
        "adjusted Rand index (mean ± standard deviation over seeds)."
    )
    return Table(caption, ("method", "read-out", *columns), tuple(lines), (TOLD,) if told else ())


def agreements_to_json(found: Iterable[Agreement]) -> str:
    """Return JSON lines."""
    return "".join(json.dumps({k: _nothing(v) for k, v in asdict(one).items()}) + "\n" for one in found)


def _nothing(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value
