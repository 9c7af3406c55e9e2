"""`metagcd fit`, `discover` and `rollback`: own images, learned once and sorted batch by batch from then on."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from metagcd.progress import Progress
    from metagcd.workspace.learning import Machine
    from metagcd.workspace.results import Discovery, Fitted

Given = Annotated[str, tyro.conf.Positional]
Overrides = tyro.conf.Positional[tuple[str, ...]]
Place = Annotated[str, tyro.conf.arg(aliases=["-w"])]
Device = Literal["auto", "cpu", "cuda"]


def fit(
    labelled: Given,
    overrides: Overrides = (),
    *,
    workspace: Place,
    method: str = "metagcd",
    encoder: str = "auto",
    force: bool = False,
    device: Device = "auto",
    precision: Literal["32-true", "bf16-mixed"] = "32-true",
    threads: int = 2,
    save_every: float = 1.0,
    wait: float = 60.0,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Learn labelled images once; a fit that was interrupted goes on.

    Args:
        labelled: A folder of class folders, a .csv, .parquet or .npz file, or a source's name; see `metagcd inspect`.
        overrides: Settings on top of what is picked from the data, such as method.tasks=20 decoding.fit=pad.
        workspace: The folder to make; it will hold weights, classes and decisions, and never an image.
        method: The learner; `metagcd list methods` names all.
        encoder: auto (DINO weights where they can be had, else those of the extra `encoders`, else `tiny`), a
            registered encoder, or a network of timm.
        force: Start again in a workspace that has been fitted; `metagcd classes undo` brings back what was there.
        device: Where to train.
        precision: Of training; bf16-mixed for graphics processors that have it.
        threads: Threads that read images ahead.
        save_every: Minutes between two saves of training under way.
        wait: Seconds to wait for another process that has the workspace.
        quiet: Show no progress.
        json: Print JSON.
    """
    from pathlib import Path

    from metagcd.config import settings
    from metagcd.workspace.fitting import Wanted
    from metagcd.workspace.folder import Folder
    from metagcd.workspace.learning import Machine
    from metagcd.workspace.workspace import Workspace

    machine = Machine(
        device=device,
        precision=precision,
        threads=threads,
        save_every=60 * save_every,
        wait=wait,
        progress=_progress(quiet=quiet or json),
    )
    wanted = Wanted(method=method, encoder=encoder, settings=settings(overrides))
    with _resumable():
        fitted = Workspace(Folder(Path(workspace).expanduser()), wanted, machine).fit(labelled, force=force)
    _print_json({"path": fitted.path, **fitted.facts}) if json else _show_fit(fitted)


def discover(
    images: Given,
    *,
    workspace: Place,
    novel: int | None = None,
    preview: bool = False,
    keep: int | None = None,
    device: Device = "auto",
    threads: int = 2,
    save_every: float = 1.0,
    wait: float = 60.0,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Sort a batch without labels: known class, new class, or unsure, for every image; one session.

    Args:
        images: A folder of images, a list of paths (.txt, .csv), or a .parquet or .npz file. Labels are never read.
        workspace: A workspace that has been fitted.
        novel: New classes to find; by default as many as there seem to be.
        preview: Only tell what would come of it; nothing is changed.
        keep: Sessions whose weights stay, beside the first, so that `metagcd rollback` can go back to them; by default
            all.
        device: Where to train.
        threads: Threads that read images ahead.
        save_every: Minutes between two saves of training under way.
        wait: Seconds to wait for another process that has the workspace.
        quiet: Show no progress.
        json: Print JSON.
    """
    from metagcd.workspace.learning import Machine
    from metagcd.workspace.workspace import Workspace

    machine = Machine(
        device=device, threads=threads, save_every=60 * save_every, wait=wait, progress=_progress(quiet=quiet or json)
    )
    with _resumable():
        opened = Workspace.open(workspace, machine=machine)
        found = opened.discover(images, n_novel=novel, preview=preview, keep=keep)
    _print_json(_described(found)) if json else _show_session(found)


def rollback(session: Annotated[int, tyro.conf.Positional], *, workspace: Place, wait: float = 60.0) -> None:
    """Go back to an earlier session: weights, classes and decisions as they were before the next one began.

    Args:
        session: Its number; 0 is the fit.
        workspace: The workspace.
        wait: Seconds to wait for another process that has the workspace.
    """
    from metagcd.workspace.workspace import Workspace

    print(f"{Workspace.open(workspace, machine=waiting(wait)).rollback(session)}.")


def waiting(wait: float) -> "Machine":
    """Return a machine that says who has the workspace, for commands that compute little."""
    from metagcd.workspace.learning import Machine

    return Machine(wait=wait, progress=_progress(quiet=False))


def _show_fit(fitted: "Fitted") -> None:
    facts = fitted.facts
    held = f"{facts['held_out']} held out" if facts["held_out"] else "none held out"
    print(f"{len(fitted.classes)} classes, {facts['images']} images, {held}.")
    if fitted.accuracy is not None:
        print(f"Right on held-out images: {100 * fitted.accuracy:.1f} %.")
    if fitted.skipped:
        print(f"{len(fitted.skipped)} files cannot be used; `metagcd inspect` lists them.")
    print(f"Workspace: {fitted.path}")


def _show_session(found: "Discovery") -> None:
    from metagcd.cli.results import show
    from metagcd.results import Table

    facts = found.facts
    if found.outcome == "same batch":
        words = "the fit" if found.session == 0 else f"session {found.session}"
        print(f"This batch is {words} already; nothing was changed.")
        return
    if found.outcome == "nothing new":
        print(f"All {facts['images']} images were met before; nothing was changed.")
        return
    title = "Preview, nothing is changed" if found.outcome == "preview" else f"Session {found.session}"
    told = [f"{facts[name]} {name}" for name in ("known", "new", "unsure", "rejected")]
    print(f"{title}: {facts['images']} images; {', '.join(told)}.")
    for name in ("met before", "there twice", "skipped"):
        if facts[name]:
            print(f"{facts[name]} {'files could not be used' if name == 'skipped' else name}.")
    span = "" if facts["number given"] else f" (between {found.count.low} and {found.count.high})"
    print(f"New classes: {len(found.found)}{span}.")
    if found.found:
        lines = tuple(
            (one.id, str(one.images), one.nearest or "", f"{one.similarity:.2f}", f"{one.cohesion:.2f}")
            for one in found.found
        )
        show(Table(header=("class", "images", "nearest", "similarity", "cohesion"), lines=lines, caption=""))


def _described(found: "Discovery") -> dict[str, object]:
    from dataclasses import asdict

    return {
        "outcome": found.outcome,
        "session": found.session,
        "classes": [asdict(one) for one in found.found],
        **found.facts,
    }


def _print_json(table: dict[str, object]) -> None:
    import json

    print(json.dumps(table))


def _progress(*, quiet: bool) -> "Progress":
    from metagcd.progress import terminal_progress

    return terminal_progress(quiet=quiet)


@contextmanager
def _resumable() -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt("Interrupted. The same command goes on where it was.") from interrupt
