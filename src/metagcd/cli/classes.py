"""`metagcd classes`: what is known, and what a person decides about it."""

from typing import TYPE_CHECKING, Annotated

import tyro

from metagcd.cli.workspace import Place, waiting

if TYPE_CHECKING:
    from metagcd.workspace.results import ClassList

Name = Annotated[str, tyro.conf.Positional]
Names = tyro.conf.Positional[tuple[str, ...]]


def ls(*, workspace: Place, json: bool = False) -> None:
    """List the classes: id, name, where each comes from, how many images it has.

    Args:
        workspace: The workspace.
        json: Print JSON instead of a table.
    """
    from metagcd.cli.results import show
    from metagcd.results import Table
    from metagcd.workspace.workspace import Workspace

    listed = Workspace.open(workspace).classes()
    if json:
        _print_json(listed)
        return
    lines = tuple(
        (
            one.id,
            one.name,
            "taught" if one.known else f"session {one.born}",
            one.status,
            str(images),
            one.nearest or "",
            "" if one.cohesion is None else f"{one.cohesion:.2f}",
        )
        for one, images in zip(listed.classes, listed.images, strict=True)
    )
    header = ("id", "name", "from", "status", "images", "nearest then", "cohesion then")
    show(Table(header=header, lines=lines, caption=f"{len(lines)} classes"))


def rename(one: Name, name: Name, *, workspace: Place, wait: float = 60.0) -> None:
    """Call a class by another name; its id stays.

    Args:
        one: The class, by id or name.
        name: What it is to be called.
        workspace: The workspace.
        wait: Seconds to wait for another process that has the workspace.
    """
    from metagcd.workspace.workspace import Workspace

    print(f"{Workspace.open(workspace, machine=waiting(wait)).rename(one, name)}.")


def merge(classes: Names, *, workspace: Place, wait: float = 60.0) -> None:
    """Make several classes one: the first that is named.

    Args:
        classes: Two or more classes, by id or name.
        workspace: The workspace.
        wait: Seconds to wait for another process that has the workspace.
    """
    from metagcd.workspace.workspace import Workspace

    print(f"{Workspace.open(workspace, machine=waiting(wait)).merge(*classes)}.")


def split(one: Name, *, workspace: Place, into: int = 2, wait: float = 60.0) -> None:
    """Make several classes of one; the largest part keeps id and name.

    Args:
        one: The class, by id or name.
        workspace: The workspace.
        into: How many classes to make.
        wait: Seconds to wait for another process that has the workspace.
    """
    from metagcd.workspace.workspace import Workspace

    print(f"{Workspace.open(workspace, machine=waiting(wait)).split(one, into=into)}.")


def reject(classes: Names, *, workspace: Place, wait: float = 60.0) -> None:
    """Hold discovered classes for none: such images are recognised from then on, and left out.

    Args:
        classes: One or more discovered classes, by id or name.
        workspace: The workspace.
        wait: Seconds to wait for another process that has the workspace.
    """
    from metagcd.workspace.workspace import Workspace

    print(f"{Workspace.open(workspace, machine=waiting(wait)).reject(*classes)}.")


def undo(*, workspace: Place, wait: float = 60.0) -> None:
    """Undo the last decision about classes, rollback or forced fit.

    Args:
        workspace: The workspace.
        wait: Seconds to wait for another process that has the workspace.
    """
    from metagcd.workspace.workspace import Workspace

    print(f"{Workspace.open(workspace, machine=waiting(wait)).undo()}.")


def history(*, workspace: Place, json: bool = False) -> None:
    """List all that was ever done to a workspace, with the time.

    Args:
        workspace: The workspace.
        json: Print JSON lines instead of a table.
    """
    from dataclasses import asdict

    from metagcd.cli.results import show
    from metagcd.results import Table
    from metagcd.workspace.workspace import Workspace

    operations = Workspace.open(workspace).history().operations
    if json:
        import json as writer

        for one in operations:
            print(writer.dumps(asdict(one)))
        return
    lines = tuple(
        (str(one.number), one.time, one.words, "" if one.undone_by is None else str(one.undone_by))
        for one in operations
    )
    header = ("number", "time", "what", "undone by")
    show(Table(header=header, lines=lines, caption=f"{len(lines)} operations"))


def _print_json(listed: "ClassList") -> None:
    import json

    names = ("id", "name", "known", "status", "born", "parent", "nearest", "similarity", "cohesion")
    for one, images in zip(listed.classes, listed.images, strict=True):
        print(json.dumps({**{name: getattr(one, name) for name in names}, "images": images}))
