"""`metagcd table` and `metagcd report`: what finished runs came to."""

from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from rich.table import Table as Drawing

    from metagcd.results import Table
    from metagcd.runs import RunDirectory


LEFT = ("method", "read-out", "session", "figures of", "minus")
"""Columns of words; all others hold numbers."""


def table(
    runs: tyro.conf.Positional[tuple[str, ...]],
    *,
    format: Literal["text", "markdown", "latex", "csv", "json"] = "text",
    partition: Literal["initial", "previous"] = "initial",
    assignment: Literal["global", "split"] = "global",
    cost: bool = False,
    summary: bool = False,
    scores: bool = False,
    intervals: bool = False,
    compare: bool = False,
) -> None:
    """Print the table of one or several runs: All/Old/New after each session, mean and spread over seeds.

    Args:
        runs: Run directories.
        format: How the table is written; csv and json hold every row.
        partition: Old are the classes of session 0 (initial), or all met before the session (previous).
        assignment: One map from clusters to classes (global), or one each for Old and New (split).
        cost: Print training time and memory instead.
        summary: Print means over sessions, forgetting and discovery instead.
        scores: Print how far clusters agree with classes after each session (NMI, ARI), and how well novel images are
            told from known ones (AUROC, FPR95), instead.
        intervals: Print every seed with 95 % intervals, the test images drawn again, instead.
        compare: Print how far the first run is from each of the others over the same seeds, tested in pairs, instead.
    """
    from metagcd import results

    if scores:
        _scores(_runs(runs), format)
        return
    if intervals or compare:
        _tests(_runs(runs), format, partition, assignment, compare=compare)
        return
    rows = tuple(row for run in _runs(runs) for row in run.rows())
    if format in ("csv", "json"):
        print((results.to_csv if format == "csv" else results.to_json)(rows), end="")
        return
    narrow = None
    if summary:
        from metagcd.experiment.tables import View, summary_table

        chosen = summary_table(rows, View(partition=partition, assignment=assignment, readout=None))
    elif cost:
        chosen = results.cost_table(rows)
    else:
        chosen = results.session_table(rows, partition=partition, assignment=assignment)
        narrow = results.upright_table(rows, partition=partition, assignment=assignment)
    if format == "text":
        show(chosen, narrow)
    else:
        print(results.FORMATS[format](chosen), end="")


def report(
    runs: tyro.conf.Positional[tuple[str, ...]] = (),
    *,
    workspace: Annotated[str, tyro.conf.arg(aliases=["-w"])] = "",
    session: int | None = None,
    output: str = "report.html",
) -> None:
    """Write one self-contained HTML page about one or several runs, or about a session of a workspace.

    Args:
        runs: Run directories.
        workspace: A workspace, in the place of runs.
        session: The session of the workspace; by default the last one.
        output: The file to write.
    """
    from pathlib import Path

    from metagcd.errors import InputError

    if bool(runs) == bool(workspace):
        raise InputError("Name run directories, or a workspace with -w, but not both.")
    if workspace:
        from metagcd.workspace.workspace import Workspace

        print(f"Report: {Workspace.open(workspace).report(output, session=session)}")
        return
    from metagcd.report import write_report

    print(f"Report: {write_report(_runs(runs), Path(output))}")


def show(table: "Table", narrow: "Table | None" = None, *, coloured: str = "") -> None:
    """Print a table for reading in a terminal; `narrow` in its place where it would not fit.

    Lines with the `coloured` word in one of their cells have a colour of their own.
    """
    from rich.console import Console

    console = Console(highlight=False)
    drawing = _drawn(table, coloured)
    width = Console(width=1000).measure(drawing).maximum
    if console.is_terminal and width > console.width and narrow is not None:
        drawing = _drawn(narrow, coloured)
    console.print(table.caption, markup=False, soft_wrap=True)
    Console(width=max(width, console.width), highlight=False).print(drawing)
    for note in table.notes:
        console.print(note, markup=False, soft_wrap=True)


def _scores(runs: "list[RunDirectory]", format: str) -> None:
    from metagcd.cli.scores import agreement_table, agreements, agreements_to_json
    from metagcd.results import FORMATS

    found = agreements(runs)
    if format == "json":
        print(agreements_to_json(found), end="")
    elif format == "text":
        show(agreement_table(found))
    else:
        print(FORMATS[format](agreement_table(found)), end="")


def _tests(
    runs: "list[RunDirectory]",
    format: str,
    partition: Literal["initial", "previous"],
    assignment: Literal["global", "split"],
    *,
    compare: bool,
) -> None:
    from metagcd.cli.intervals import interval_table
    from metagcd.cli.pairs import pair_table
    from metagcd.errors import InputError
    from metagcd.results import FORMATS

    if format == "json":
        raise InputError("Comparisons and intervals are printed as text, markdown, latex or csv.")
    chosen = (pair_table if compare else interval_table)(runs, partition=partition, assignment=assignment)
    if format == "text":
        show(chosen)
    else:
        print(FORMATS[format](chosen), end="")


def _drawn(table: "Table", coloured: str) -> "Drawing":
    from rich.table import Table as Drawing

    drawing = Drawing(*table.header, box=None, pad_edge=False, header_style="bold")
    for line in table.lines:
        drawing.add_row(*line, style="cyan" if coloured and coloured in line else None)
    for column, name in zip(drawing.columns, table.header, strict=True):
        column.no_wrap = True
        column.justify = "left" if name in LEFT else "right"
    return drawing


def _runs(paths: tuple[str, ...]) -> "list[RunDirectory]":
    from pathlib import Path

    from metagcd.errors import InputError
    from metagcd.runs import existing_run

    if not paths:
        raise InputError("Name one or more run directories, such as runs/*.")
    return [existing_run(Path(path)) for path in paths]
