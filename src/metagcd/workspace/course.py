"""How the taught classes fare from session to session, told without a single label."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from metagcd.types import Array
from metagcd.workspace.catalogue import Catalogue
from metagcd.workspace.types import KNOWN


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The taught classes as a session left them."""

    session: int
    recognised: int
    """Images of the session that were given a taught class for sure."""
    expected: float
    """Mean confidence in these: the share that should be right; nan without such images."""
    kept: float
    """Mean cosine of the taught classes' means with those after the fit: 1 where nothing has moved."""
    apart: float
    """Median over taught classes of the distance to the nearest other class over the class's own spread."""


def course(catalogue: Catalogue) -> tuple[Moment, ...]:
    """Return the moments of all sessions that hold, the fit first.

    What labels would tell, the share of right answers, is estimated by calibrated confidence. That it can be trusted
    less when classes move or come nearer to one another, `kept` and `apart` tell.
    """
    sessions = catalogue.sessions()
    first = _means(catalogue.connection, sessions[0].operation)
    return tuple(_moment(catalogue.connection, one.number, one.operation, first) for one in sessions)


@dataclass(frozen=True)
class _State:
    mean: Float[Array, " d"]
    spread: float
    known: bool


def _moment(connection: sqlite3.Connection, session: int, operation: int, first: Mapping[str, _State]) -> Moment:
    count, confidence = connection.execute(
        "SELECT count(*), avg(confidence) FROM images WHERE operation = ? AND verdict = ? AND class IN "
        "(SELECT class FROM states WHERE known)",
        (operation, KNOWN),
    ).fetchone()
    now = _means(connection, operation)
    taught = [one for one, state in now.items() if state.known and one in first]
    cosines = [_cosine(first[one].mean, now[one].mean) for one in taught]
    return Moment(
        session=session,
        recognised=int(count),
        expected=float("nan") if confidence is None else float(confidence),
        kept=float(np.mean(cosines)) if cosines else float("nan"),
        apart=_apart(now),
    )


def _means(connection: sqlite3.Connection, operation: int) -> dict[str, _State]:
    rows = connection.execute(
        "SELECT class, mean, spread, known FROM states WHERE operation = ? AND status != 'merged'", (operation,)
    )
    return {
        one: _State(
            np.frombuffer(mean, dtype="<f4").astype(np.float64), np.nan if spread is None else spread, bool(known)
        )
        for one, mean, spread, known in rows
    }


def _apart(states: Mapping[str, _State]) -> float:
    means = np.stack([state.mean for state in states.values()]) if states else np.zeros((0, 1))
    found = list[float]()
    for row, state in enumerate(states.values()):
        others = np.delete(means, row, axis=0)
        if state.known and len(others) and state.spread > 0:
            found.append(float(np.linalg.norm(others - state.mean, axis=1).min() / state.spread))
    return float(np.median(found)) if found else float("nan")


def _cosine(one: Float[Array, " d"], other: Float[Array, " d"]) -> float:
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-12))
