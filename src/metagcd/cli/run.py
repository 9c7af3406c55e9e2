"""`metagcd demo`, `run`, `config` and `split`: from a preset to results."""

from typing import TYPE_CHECKING, Literal

import tyro

if TYPE_CHECKING:
    from pathlib import Path

    from metagcd.experiment.config import RunConfig
    from metagcd.experiment.run import Hardware, Results

Overrides = tyro.conf.Positional[tuple[str, ...]]
Name = tyro.conf.Positional[str]
DEMO = ("frozen-digits", "gcd-digits", "metagcd-digits")


def demo(*, output: str = "runs/demo", quiet: bool = False) -> None:
    """Discover digits: every demonstrated method on three seeds, a table and a report; a few minutes on two cores.

    Args:
        output: Folder for the runs and the report; what is finished there is not done again.
        quiet: Show no progress.
    """
    from pathlib import Path

    from metagcd.cli.results import show
    from metagcd.experiment.presets import load_preset
    from metagcd.report import write_report
    from metagcd.results import cost_table, session_table, upright_table
    from metagcd.runs import RunDirectory

    folder = Path(output)
    found = [_carried_out(load_preset(name), folder / name, quiet=quiet) for name in DEMO]
    rows = tuple(row for results in found for row in results.rows)
    show(session_table(rows), upright_table(rows))
    print()
    show(cost_table(rows))
    report = write_report([RunDirectory(results.directory) for results in found], folder / "report.html")
    print(f"Report to open in a browser: {report}")


def run(
    preset: Name = "",
    overrides: Overrides = (),
    *,
    config: str = "",
    directory: str = "",
    root: str = "runs",
    split: str = "",
    data_root: str = "",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    devices: int = 1,
    precision: Literal["32-true", "bf16-mixed"] = "32-true",
    threads: int = 2,
    save_every: float = 1.0,
    keep: int = 1,
    tensorboard: bool = False,
    micro_batch: int | None = None,
    bank_budget: float | None = None,
    compile: Literal["auto", "on", "off"] = "auto",
    capture: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Run a method on a data set under its protocol and print the table; a run that was interrupted goes on.

    Args:
        preset: A named configuration, METHOD-DATA; `metagcd list presets` names all.
        overrides: Settings on top of it, such as seeds=[0,1] method.online_updates=50; `metagcd config` shows all keys.
        config: A TOML file on top of the preset, or alone; the config.toml of a run repeats that run.
        directory: The run directory; by default a name below `root` that the configuration determines.
        root: Folder of run directories.
        split: A manifest of `metagcd split`, to be used instead of drawing one.
        data_root: Folder of published data sets; empty: METAGCD_DATA, else ~/.cache/metagcd/data.
        device: Where to train.
        devices: Processes that train together on this machine, one per device; docs/distributed.md.
        precision: Of training; bf16-mixed for graphics processors that have it.
        threads: Threads that read images ahead, in every process.
        save_every: Minutes between two saves of training under way.
        keep: Saved states of a stage that stay; when the newest is damaged, the one before it is gone on from.
        tensorboard: Write event files for TensorBoard beside seed-N/metrics.jsonl.
        micro_batch: Views computed at a time; by default a whole batch, and fewer when memory runs out.
        bank_budget: Disk that stored trunk outputs may take, in GB; by default METAGCD_BANK_BUDGET, else 20.
        compile: Compile the frozen trunk for the pass that fills a bank, by default where that was measured to pay;
            `on` compiles the tail in training too.
        capture: Capture updates as CUDA graphs, where the learner allows it; not yet tried on a graphics processor.
        quiet: Show no progress.
        json: Print the rows as JSON lines instead of a table, and no progress.
    """
    import os
    from dataclasses import replace
    from pathlib import Path

    from metagcd.cli.results import show
    from metagcd.data.root import VARIABLE
    from metagcd.engine.processes import speaks
    from metagcd.experiment.run import Hardware
    from metagcd.results import to_json, upright_table

    if data_root:
        os.environ[VARIABLE] = data_root
    chosen = effective(preset, overrides, config)
    if split:
        chosen = replace(chosen, split=split)
    hardware = Hardware(
        device=device,
        devices=devices,
        precision=precision,
        threads=threads,
        save_every=60 * save_every,
        keep=keep,
        tensorboard=tensorboard,
        micro_batch=micro_batch,
        bank_budget=bank_budget,
        compile=compile,
        capture=capture,
    )
    place = Path(directory) if directory else _own_directory(config) or _directory(chosen, Path(root))
    results = _carried_out(chosen, place, quiet=quiet or json, hardware=hardware)
    if not speaks():
        return
    if json:
        print(to_json(results.rows), end="")
    else:
        show(results.table(), upright_table(results.rows))
        print(f"Rows, states and configuration: {results.directory}")


def config(preset: Name = "", overrides: Overrides = (), *, config: str = "") -> None:
    """Print the effective configuration as TOML, every key with what it means.

    Args:
        preset: A named configuration, METHOD-DATA.
        overrides: Settings on top of it.
        config: A TOML file on top of the preset, or alone.
    """
    from metagcd.describe import described

    print(described(effective(preset, overrides, config)), end="")


def split(
    preset: Name = "", overrides: Overrides = (), *, config: str = "", output: str = "split.json", seed: int = 0
) -> None:
    """Write which images come when, as a JSON manifest with a digest; `metagcd run --split` uses it.

    Args:
        preset: A named configuration, METHOD-DATA; its source and protocol are used.
        overrides: Settings on top of it, such as protocol.known=6.
        config: A TOML file on top of the preset, or alone.
        output: The file to write.
        seed: Seed of the draw.
    """
    from pathlib import Path

    from metagcd.data import load
    from metagcd.progress import terminal_progress
    from metagcd.protocol import split as draw
    from metagcd.protocol import write_manifest

    chosen = effective(preset, overrides, config)
    data = load(chosen.source, terminal_progress())
    drawn = draw(data.train_labels, data.test_labels, chosen.protocol, seed)
    write_manifest(Path(output), drawn, source_fingerprint=data.fingerprint)
    sizes = ", ".join(str(len(session.train)) for session in drawn.sessions)
    print(f"{output}: digest {drawn.digest}, {len(drawn.offline)} labelled images, sessions of {sizes}.")


def effective(preset: str, overrides: tuple[str, ...], config: str) -> "RunConfig":
    """Return defaults < preset < file < settings of the command line; say what of the file is passed over."""
    import sys
    from pathlib import Path

    from metagcd.config import from_mapping, read_toml, settings
    from metagcd.errors import InputError
    from metagcd.experiment.config import RunConfig
    from metagcd.experiment.presets import load_preset

    if "=" in preset:
        preset, overrides = "", (preset, *overrides)
    if not preset and not config and not overrides:
        raise InputError("Name a preset (`metagcd list presets`) or give --config FILE.")
    chosen = load_preset(preset) if preset else RunConfig()
    if config:
        passed_over = list[str]()
        chosen = read_toml(chosen, Path(config), passed_over=passed_over)
        for words in passed_over:
            print(f"{config}: {words}", file=sys.stderr)
    return from_mapping(chosen, settings(overrides))


def _directory(config: "RunConfig", root: "Path") -> "Path":
    return root / f"{config.title}-{config.digest}"


def _own_directory(config: str) -> "Path | None":
    """Return the run that the configuration file belongs to, if it is a run's own."""
    from pathlib import Path

    folder = Path(config).parent if config else None
    return folder if folder is not None and (folder / "run.json").is_file() else None


def _carried_out(
    config: "RunConfig", directory: "Path", *, quiet: bool, hardware: "Hardware | None" = None
) -> "Results":
    from metagcd.experiment.run import run as carry_out
    from metagcd.progress import terminal_progress

    try:
        return carry_out(config, directory=directory, hardware=hardware, progress=terminal_progress(quiet=quiet))
    except KeyboardInterrupt as interrupt:
        words = f"Interrupted. Continue with: metagcd run --config {directory / 'config.toml'}"
        raise KeyboardInterrupt(words) from interrupt
