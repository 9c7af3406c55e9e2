"""`metagcd suite`: the runs behind a table or figure of the paper, and the table or figure."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

import tyro

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from metagcd.experiment.suite import Suite
    from metagcd.experiment.suite_run import SuiteResults
    from metagcd.experiment.tables import View
    from metagcd.report.figures import Curve
    from metagcd.results import Table

N = TypeVar("N", int, float)


def suite(
    name: tyro.conf.Positional[str],
    overrides: tyro.conf.Positional[tuple[str, ...]] = (),
    *,
    dataset: str = "digits",
    methods: str = "",
    seeds: str = "",
    encoder: str = "",
    values: str = "",
    readout: str = "kmeans",
    partition: Literal["initial", "previous"] = "initial",
    root: str = "runs",
    output: str = "",
    data_root: str = "",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    devices: int = 1,
    precision: Literal["32-true", "bf16-mixed"] = "32-true",
    threads: int = 2,
    published: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> None:
    """Make a table or figure of the paper: table2, table3, figure3, figure4-threshold or figure4-classes.

    What was finished is not run again, and session 0 is learned once by runs that learn it alike; the folder `offline`
    below the root, where such runs find it, may be removed when all are done.

    Args:
        name: The suite.
        overrides: Settings on top of the presets; those of a method hold for the rows whose method has them.
        dataset: A data set that has presets.
        methods: Rows to keep, by method, such as gcd,metagcd; all when left out.
        seeds: Repetitions, such as 0,1,2; those of the presets when left out.
        encoder: A registered encoder, or a name that timm knows; that of the presets when left out.
        values: Values of a sweep, such as 0.8,0.9; those of the suite when left out.
        readout: The read-out that is shown; rows hold every one.
        partition: Old are the classes of session 0 (initial), or all met before the session (previous).
        root: Folder of run directories.
        output: Folder of the table and the figure; below the root when left out.
        data_root: Folder of published data sets; empty: METAGCD_DATA, else ~/.cache/metagcd/data.
        device: Where to train.
        devices: Processes that train together on this machine, one per device; docs/distributed.md.
        precision: Of training; bf16-mixed for graphics processors that have it.
        threads: Threads that read images ahead, in every process.
        published: Show the numbers that the paper prints too, in lines of their own.
        dry_run: Say what would be run, and what it may cost, and run nothing.
        quiet: Show no progress.
    """
    import os
    from pathlib import Path

    from metagcd.cli.results import show
    from metagcd.config import settings
    from metagcd.data.root import VARIABLE
    from metagcd.engine.processes import speaks
    from metagcd.experiment.run import Hardware
    from metagcd.experiment.suite import Choices, load_suite
    from metagcd.experiment.suite_plan import plan, plan_table
    from metagcd.experiment.suite_run import run_suite
    from metagcd.experiment.tables import View
    from metagcd.progress import terminal_progress

    if data_root:
        os.environ[VARIABLE] = data_root
    choices = Choices(
        dataset=dataset,
        methods=tuple(_listed(methods)),
        seeds=_numbers("seeds", seeds, int),
        encoder=encoder,
        values=_numbers("values", values, float),
        overrides=settings(overrides),
    )
    chosen = load_suite(name, choices)
    if dry_run:
        show(plan_table(chosen, plan(chosen, Path(root))))
        return
    hardware = Hardware(device=device, devices=devices, precision=precision, threads=threads)
    try:
        results = run_suite(chosen, root=root, hardware=hardware, progress=terminal_progress(quiet=quiet))
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt("Interrupted. The same command goes on.") from interrupt
    if speaks():
        folder = Path(output) if output else Path(root) / "suites" / chosen.folder
        _deliver(chosen, results, View(partition=partition, readout=readout), published=published, folder=folder)


def _deliver(suite: "Suite", results: "SuiteResults", view: "View", *, published: bool, folder: "Path") -> None:
    """Write and print the table, and what learning cost."""
    from metagcd.cli.results import show
    from metagcd.results import cost_table

    table, cost = _table(suite, results, view, published=published), cost_table(results.every)
    written = _write(suite, results, view, tables={suite.name: table, f"{suite.name}-cost": cost}, folder=folder)
    show(table, coloured="paper")
    print()
    show(cost)
    print(f"Written: {', '.join(file.name for file in written)} in {folder}")


def _listed(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _numbers(flag: str, words: str, kind: Callable[[str], N]) -> tuple[N, ...]:
    from metagcd.errors import InputError

    try:
        return tuple(kind(word) for word in _listed(words))
    except ValueError as error:
        raise InputError(f"`--{flag}` takes numbers with commas between them; got {words}.") from error


def _table(suite: "Suite", results: "SuiteResults", view: "View", *, published: bool) -> "Table":
    from dataclasses import replace

    from metagcd.errors import unknown_name
    from metagcd.experiment.published import published as printed_for
    from metagcd.experiment.tables_suite import suite_table

    readouts = {row.readout for row in results.every}
    if view.readout not in readouts:
        raise unknown_name("read-out of these runs", str(view.readout), readouts)
    printed = printed_for(suite.dataset, suite.name) if published else None
    table = suite_table(suite, results.rows, view, printed=printed)
    if published and printed is None:
        nothing = f"The paper prints no numbers for {suite.name} on {suite.dataset}."
        return replace(table, notes=(*table.notes, nothing))
    return table


def _write(
    suite: "Suite", results: "SuiteResults", view: "View", *, tables: "Mapping[str, Table]", folder: "Path"
) -> "list[Path]":
    """Write the tables, each under its name, and the figure; return their files."""
    from pathlib import Path

    from metagcd.report.figures import save_figure
    from metagcd.results import FORMATS
    from metagcd.runs import write_atomic

    endings = {"markdown": "md", "latex": "tex", "csv": "csv"}
    files = list[Path]()
    for name, table in tables.items():
        for form, ending in endings.items():
            files.append(folder / f"{name}.{ending}")
            write_atomic(files[-1], FORMATS[form](table))
    return [*files, *save_figure(_figure(suite, results, view), folder / suite.name)]


def _figure(suite: "Suite", results: "SuiteResults", view: "View") -> "Figure":
    from metagcd.report.figures import accuracy_figure, curve_figure

    if suite.layout == "confusion":
        return _confusions(results, view)
    if suite.layout == "sweep":
        label = suite.quantity.rpartition(".")[2]
        return curve_figure(_sweep(suite, results, view), xlabel=label, ylabel="mean accuracy over sessions in %")
    return accuracy_figure(view.of(results.every), partition=view.partition, assignment=view.assignment)


def _confusions(results: "SuiteResults", view: "View") -> "Figure":
    """Draw the confusion of every line after the last session, summed over seeds."""
    from metagcd.report.confusion import confusion, summed
    from metagcd.report.figures import confusion_figures
    from metagcd.report.records import read_records

    found, known = {}, None
    for label, directory in results.directories.items():
        (record,) = read_records([directory])
        found[label] = summed([confusion(answer) for answer in record.answers if answer.readout == view.readout])
        known = record.known
    return confusion_figures(found, known=known)


def _sweep(suite: "Suite", results: "SuiteResults", view: "View") -> "list[Curve]":
    """Return the means over sessions of All, Old and New over the values of the sweep."""
    from metagcd.experiment.tables import courses
    from metagcd.report.figures import Curve
    from metagcd.results import SCORES, cell

    averages = [[course.average for course in courses(view.of(results.rows[row.label]))] for row in suite.rows]
    curves: list[Curve] = []
    for score in SCORES:
        cells = [cell(getattr(one, score) for one in found) for found in averages]
        curves.append(
            Curve(
                label=score.capitalize(),
                x=[row.value for row in suite.rows],
                mean=[found.mean for found in cells],
                spread=[found.spread for found in cells],
            )
        )
    return curves
