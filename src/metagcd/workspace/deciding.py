"""What a person decides about classes: their names, which are one, which are two, which are none."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from metagcd.cluster import kmeans
from metagcd.cluster.kmeans import as_array
from metagcd.errors import InputError
from metagcd.types import Array
from metagcd.workspace import journal
from metagcd.workspace.book import ClassState, named, new_ids, pooled, present, recognised, statistics, write
from metagcd.workspace.catalogue import Catalogue
from metagcd.workspace.folder import Folder

LENGTH = 200
"""Most letters of a name."""
RESTARTS = 10
"""Initialisations of k-means when a class is split."""
TYPICAL = 8
"""Images kept as typical of a part: those nearest to its mean."""


def rename(connection: sqlite3.Connection, word: str, name: str) -> str:
    """Call a class by another name; its id stays. Return what was done, in words."""
    states = present(connection)
    state, name = named(states, word), name.strip()
    if not name or len(name) > LENGTH or not name.isprintable():
        raise InputError(f"A name has 1 to {LENGTH} letters on one line; got {name!r}.")
    taken = [other for other in states if other.id != state.id and name in (other.id, other.name)]
    if any(other.status != "merged" or other.id == name for other in taken):
        raise InputError(f"`{name}` is the name of another class, {taken[0].id}; `metagcd classes merge` joins both.")
    words = f"rename {state.id} to {name}"
    write(connection, journal.begin(connection, "rename", words), [replace(state, name=name)])
    return words


def merge(connection: sqlite3.Connection, chosen: Sequence[str]) -> str:
    """Make several classes one: the first, which keeps its id and name. Return what was done, in words."""
    states = present(connection)
    parts = [named(states, word) for word in chosen]
    first, others = parts[0], parts[1:]
    if not others or len({part.id for part in parts}) < len(parts):
        raise InputError("Name two or more different classes; the first is the one that stays.")
    taught = [other.id for other in others if other.known]
    if taught and not first.known:
        raise InputError(f"`{taught[0]}` was taught with labels and has to stay; name it first.")
    if any(part.status == "rejected" for part in parts):
        raise InputError("A rejected class cannot be merged; undo the rejection first, or leave it.")
    mean, spread, count = pooled(parts)
    words = f"merge {', '.join(other.id for other in others)} into {first.id}"
    joined = replace(first, mean=mean, spread=spread, count=count)
    gone = [replace(other, status="merged", heir=first.id) for other in others]
    write(connection, journal.begin(connection, "merge", words), [joined, *gone])
    return words


def reject(connection: sqlite3.Connection, chosen: Sequence[str]) -> str:
    """Hold classes for none: their images are recognised later and left out. Return what was done, in words."""
    states = present(connection)
    parts = [named(states, word) for word in chosen]
    if not parts:
        raise InputError("Name one or more classes.")
    for part in parts:
        if part.known:
            raise InputError(f"`{part.id}` was taught with labels; only discovered classes can be rejected.")
        if part.status == "rejected":
            raise InputError(f"`{part.id}` is rejected already.")
    words = f"reject {', '.join(part.id for part in parts)}"
    write(connection, journal.begin(connection, "reject", words), [replace(part, status="rejected") for part in parts])
    return words


@dataclass(frozen=True, kw_only=True, eq=False)
class Members:
    """The images of a class that were surely its own, and what is kept of them."""

    numbers: Int[Array, " n"]
    features: Float[Array, "n d"]


def split(connection: sqlite3.Connection, folder: Folder, word: str, *, into: int = 2, seed: int = 0) -> str:
    """Make several classes of one; the largest part keeps its id and name. Return what was done, in words."""
    states = present(connection)
    state = named(states, word)
    if state.status == "rejected":
        raise InputError(f"`{state.id}` is rejected; undo that first.")
    members = members_of(Catalogue(connection), folder, state.id)
    if not 2 <= into <= len(np.unique(members.features, axis=0)):
        raise InputError(f"Cannot make {into} classes of the {len(members.numbers)} images of `{state.id}`.")
    labels = as_array(kmeans(members.features, into, seed=seed, restarts=RESTARTS).labels)
    order = np.argsort(-np.bincount(labels, minlength=into), kind="stable")
    ids = (state.id, *new_ids(connection, into - 1))
    # Features are as of the sessions that brought the images; what the encoder moved since then moves every part alike.
    drift = state.mean - statistics(members.features)[0]
    words = f"split {state.id}: {', '.join(ids[1:])}"
    operation = journal.begin(connection, "split", words)
    for one, part in zip(ids, order.tolist(), strict=True):
        rows = np.flatnonzero(labels == part)
        mean, spread, count = statistics(members.features[rows])
        own = replace(state, mean=mean + drift, spread=spread, count=count)
        if one != state.id:
            own = replace(own, id=one, name=one, known=False, parent=state.id, nearest=state.id, cohesion=None)
        write(connection, operation, [own])
        _move(connection, operation, one, members, rows, moved=one != state.id)
    return words


def members_of(catalogue: Catalogue, folder: Folder, one: str) -> Members:
    """Return the images that are surely of a class, each content once, with the features that are kept of them."""
    files = {session.number: session.features for session in catalogue.sessions()}
    rows: dict[int, list[Int[Array, "2 n"]]] = {}
    for block in catalogue.images(of_class=one):
        for session in np.unique(block.sessions).tolist():
            own = block.sessions == session
            rows.setdefault(session, []).append(np.stack([block.numbers[own], block.rows[own]]))
    numbers, features = [np.zeros(0, dtype=np.int64)], list[Array]()
    for session, found in rows.items():
        places = np.concatenate(found, axis=1)
        kept = folder.read(str(files[session]))["features"]
        numbers.append(places[0])
        features.append(kept[places[1]].float().numpy())
    whole = np.concatenate(features) if features else np.zeros((0, 1), dtype=np.float32)
    return Members(numbers=np.concatenate(numbers), features=whole)


def _move(
    connection: sqlite3.Connection, operation: int, one: str, members: Members, rows: Int[Array, " m"], *, moved: bool
) -> None:
    """Note the images of a part, and which of them are typical of it."""
    numbers, features = members.numbers[rows], members.features[rows]
    if moved:
        connection.executemany(
            "INSERT INTO moves (image, operation, class) VALUES (?, ?, ?)",
            ((number, operation, one) for number in numbers.tolist()),
        )
    near = np.argsort(np.square(features - features.mean(axis=0)).sum(axis=1), kind="stable")[:TYPICAL]
    connection.executemany(
        "INSERT INTO representatives (class, operation, place, image) VALUES (?, ?, ?, ?)",
        ((one, operation, place, number) for place, number in enumerate(numbers[near].tolist())),
    )


def alive(states: Sequence[ClassState]) -> tuple[ClassState, ...]:
    """Return the classes that count."""
    return tuple(state for state in recognised(states) if state.status == "alive")
