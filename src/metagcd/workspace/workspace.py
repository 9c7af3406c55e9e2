"""A workspace: own images, learned once with labels, and sorted batch by batch from then on."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metagcd.errors import InputError
from metagcd.types import Dataset
from metagcd.workspace import deciding, journal
from metagcd.workspace.batch import Given
from metagcd.workspace.book import recognised
from metagcd.workspace.catalogue import reading
from metagcd.workspace.database import connected, require_free, transaction
from metagcd.workspace.discovering import How, discover
from metagcd.workspace.exporting import Source, export
from metagcd.workspace.fitting import Wanted, fit
from metagcd.workspace.folder import Folder, held
from metagcd.workspace.learning import Machine
from metagcd.workspace.looking import Predictions, predictions, together
from metagcd.workspace.results import ClassList, Decisions, Discovery, Fitted, History


@dataclass(frozen=True)
class Workspace:
    """A folder that holds a learner, the classes it knows, and the decisions about every image; never an image.

    Every verb that changes it is one transaction: killed at any moment, it is as it was before or after.
    """

    folder: Folder
    wanted: Wanted = field(default_factory=lambda: Wanted(settings={}))
    machine: Machine = field(default_factory=Machine)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        method: str = "metagcd",
        encoder: str = "auto",
        settings: Mapping[str, Any] | None = None,
        machine: Machine | None = None,
    ) -> "Workspace":
        """Return a workspace that is yet to be fitted; its folder appears with the fit.

        `settings` are tables of settings on top of what is picked from the data, as `{"method": {"tasks": 5}}`.
        """
        folder = Folder(Path(path).expanduser())
        if folder.exists:
            raise InputError(f"{folder.path} holds a workspace already; `Workspace.open` opens it.")
        require_free(folder)
        wanted = Wanted(method=method, encoder=encoder, settings=dict(settings or {}))
        return cls(folder, wanted, machine or Machine())

    @classmethod
    def open(cls, path: str | Path, *, machine: Machine | None = None) -> "Workspace":
        """Return the workspace that is there, sound and of this version."""
        folder = Folder(Path(path).expanduser())
        with reading(folder):
            return cls(folder, machine=machine or Machine())

    def fit(self, labelled: str | Path | Dataset, *, force: bool = False) -> Fitted:
        """Learn labelled images: a folder of class folders, a table, a file, a data set; `force` starts again."""
        return fit(self.folder, labelled, self.wanted, self.machine, force=force)

    def discover(
        self, images: Given, *, n_novel: int | None = None, preview: bool = False, keep: int | None = None
    ) -> Discovery:
        """Carry out a session on images without labels; with `preview` only tell what would come of it."""
        return discover(self.folder, images, How(n_novel=n_novel, preview=preview, keep=keep), self.machine)

    def predict(self, images: Given) -> Decisions:
        """Decide of images one by one, and learn nothing from them."""
        return together(predictions(self.folder, images, self.machine))

    def predictions(self, images: Given) -> Predictions:
        """Return decisions of images one by one, made block by block as they are asked for."""
        return predictions(self.folder, images, self.machine)

    def export(
        self, name: str, output: str | Path, *, session: int | None = None, settings: Mapping[str, Any] | None = None
    ) -> str:
        """Write what the workspace holds in the format of another tool; return what was written, in words."""
        with reading(self.folder) as catalogue:
            if session is not None and session not in {one.number for one in catalogue.sessions()}:
                raise InputError(f"There is no session {session}; the last one is {catalogue.sessions()[-1].number}.")
            source = Source(catalogue=catalogue, folder=self.folder, machine=self.machine, session=session)
            return export(name, source, Path(output).expanduser(), settings or {})

    def report(self, output: str | Path = "report.html", *, session: int | None = None) -> Path:
        """Write one HTML file about a session, the last one by default; it needs nothing else. Return its path."""
        from metagcd.workspace.page import write_page

        with reading(self.folder) as catalogue:
            return write_page(catalogue, self.folder, Path(output).expanduser(), session=session)

    def classes(self) -> ClassList:
        """Return the classes as they are now."""
        with reading(self.folder) as catalogue:
            states = recognised(catalogue.classes())
            counts = catalogue.image_counts()
            return ClassList(
                classes=states,
                images=tuple(counts.get(state.id, 0) for state in states),
                galleries=tuple(catalogue.representatives(state.id) for state in states),
            )

    def history(self) -> History:
        """Return all that was ever done."""
        with reading(self.folder) as catalogue:
            return History(operations=journal.history(catalogue.connection))

    def rename(self, one: str, name: str) -> str:
        """Call a class by another name; its id stays."""
        return self._change(lambda connection: deciding.rename(connection, one, name))

    def merge(self, *classes: str) -> str:
        """Make several classes one: the first."""
        return self._change(lambda connection: deciding.merge(connection, classes))

    def split(self, one: str, *, into: int = 2) -> str:
        """Make several classes of one; the largest part keeps its id and name."""
        return self._change(lambda connection: deciding.split(connection, self.folder, one, into=into))

    def reject(self, *classes: str) -> str:
        """Hold discovered classes for none: they are recognised later, and left out."""
        return self._change(lambda connection: deciding.reject(connection, classes))

    def undo(self) -> str:
        """Undo the last decision, rollback or forced fit."""
        return self._change(lambda connection: f"undone: {journal.undo(connection).words}")

    def rollback(self, session: int) -> str:
        """Go back to a session: later ones, and what was decided after the next one began, are undone."""

        def back(connection: sqlite3.Connection) -> str:
            gone = journal.go_back(connection, session)
            return f"back to session {session}; undone: {'; '.join(one.words for one in gone)}"

        return self._change(back)

    def _change(self, work: Callable[[sqlite3.Connection], str]) -> str:
        """Change the catalogue in one transaction while nobody else does."""
        if not self.folder.exists:
            raise InputError(f"{self.folder.path} holds no workspace; `metagcd fit` makes one.")
        lock = held(self.folder, wait=self.machine.wait, progress=self.machine.progress)
        with lock, connected(self.folder) as connection, transaction(connection):
            return work(connection)
