"""`metagcd predict` and `metagcd export`: decisions about images, and what a workspace holds, for other tools."""

from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from metagcd.cli.workspace import Device, Given, Overrides, Place

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import TextIO

    from metagcd.workspace.lines import Format, Write
    from metagcd.workspace.looking import Predictions

Name = Annotated[str, tyro.conf.Positional]


def predict(
    images: Given,
    *,
    workspace: Place,
    output: str = "-",
    format: Literal["", "csv", "jsonl", "parquet"] = "",
    device: Device = "auto",
    precision: Literal["32-true", "bf16-mixed"] = "32-true",
    threads: int = 2,
    quiet: bool = False,
) -> None:
    """Decide of images one by one: class, confidence, novelty; nothing is learned from them.

    Args:
        images: A folder of images, a list of paths (.txt, .csv), or a .parquet or .npz file. Labels are never read.
        workspace: A workspace that has been fitted.
        output: The file to write; - for standard output.
        format: csv, jsonl or parquet; by default that of the file's ending, and csv on standard output.
        device: Where to compute.
        precision: bf16-mixed for processors that have it.
        threads: Threads that read images ahead.
        quiet: Show no progress.
    """
    import sys

    from metagcd.progress import terminal_progress
    from metagcd.workspace.learning import Machine
    from metagcd.workspace.lines import decision_columns, format_of
    from metagcd.workspace.workspace import Workspace

    form = format_of(output, format)
    progress = terminal_progress(quiet=quiet)
    machine = Machine(device=device, precision=precision, threads=threads, progress=progress)
    found = Workspace.open(workspace, machine=machine).predictions(images)
    count = 0
    with _opened(output, form) as write:
        for block in found:
            write(decision_columns(block))
            count += len(block)
    _tell(found, count, output, file=sys.stderr if output == "-" else sys.stdout, quiet=quiet)


def export(
    format: Name,
    output: Name,
    overrides: Overrides = (),
    *,
    workspace: Place,
    session: int | None = None,
    quiet: bool = False,
) -> None:
    """Write what a workspace holds for another tool; `metagcd list exports` names the formats.

    Args:
        format: csv, parquet, coco, label_studio, tree, fiftyone or onnx.
        output: The file to write, or the folder for tree and fiftyone.
        overrides: Settings of the format, such as how=copy for tree, root=FOLDER for label_studio.
        workspace: The workspace.
        session: Only images of this session; by default those of all.
        quiet: Show no progress.
    """
    from metagcd.config import settings
    from metagcd.progress import terminal_progress
    from metagcd.workspace.learning import Machine
    from metagcd.workspace.workspace import Workspace

    opened = Workspace.open(workspace, machine=Machine(progress=terminal_progress(quiet=quiet)))
    words = opened.export(format, output, session=session, settings=settings(overrides))
    print(f"{output}: {words}.")


def _opened(output: str, form: "Format") -> "AbstractContextManager[Write]":
    """Return what opens a file or standard output for blocks of lines."""
    import sys
    from io import BufferedIOBase
    from pathlib import Path
    from typing import cast

    from metagcd.workspace.lines import COLUMNS, streamed, written

    if output == "-":
        return streamed(cast(BufferedIOBase, sys.stdout.buffer), form, COLUMNS)
    return written(Path(output).expanduser(), form, COLUMNS)


def _tell(found: "Predictions", count: int, output: str, *, file: "TextIO", quiet: bool) -> None:
    if quiet:
        return
    where = "" if output == "-" else f"{output}: "
    print(f"{where}{count} images.", file=file)
    for one in found.skipped[:3]:
        print(f"Skipped {one.path}: {one.reason}", file=file)
    if len(found.skipped) > 3:
        print(f"{len(found.skipped) - 3} more files could not be used.", file=file)
