"""run(config) -> results: every session of every seed, each kept as soon as it is done."""

import json
import shutil
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from metagcd.config import from_toml, to_toml
from metagcd.data import SOURCES, Dataset, load
from metagcd.data.rows import select
from metagcd.data.skipped import write_skipped_csv
from metagcd.engine.checkpoint import State, load_state, save_state
from metagcd.engine.distributed import of_first
from metagcd.engine.metrics import require_tensorboard
from metagcd.engine.processes import speaks, together
from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.experiment.offline import Shared, learn_offline, shared_state
from metagcd.experiment.scoring import Examination, chosen_readouts, keep_predictions, read_off, score
from metagcd.experiment.trial import Hardware, Trial
from metagcd.methods import METHODS
from metagcd.methods.learner import Learner
from metagcd.models.encoder import WeightsRecord
from metagcd.progress import Progress, terminal_progress
from metagcd.protocol import Protocol, read_manifest, split, write_manifest
from metagcd.results import Row, Table, session_table
from metagcd.runs import existing_run, locked, open_run, read_text, write_atomic
from metagcd.types import LabelledSet, UnlabelledSet


@dataclass(frozen=True)
class Results:
    """The rows of a run, and where it lies."""

    rows: tuple[Row, ...]
    directory: Path

    def table(self, *, partition: str = "initial", assignment: str = "global") -> Table:
        """Return All/Old/New per session, mean and spread over seeds."""
        return session_table(self.rows, partition=partition, assignment=assignment)

    def _repr_markdown_(self) -> str:
        return self.table().markdown()


def run(
    config: RunConfig,
    *,
    root: Path | str = "runs",
    directory: Path | str | None = None,
    data: Dataset | None = None,
    hardware: Hardware | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run the configuration, or finish the run of it that was begun; return its rows.

    The run directory is `directory`, or below `root` under a name that the configuration determines.
    `data` takes the place of what `config.source` would load. Hardware with several `devices` starts a process for
    each, of which the first writes.
    """
    hardware, progress = hardware or Hardware(), progress or Progress()
    if hardware.tensorboard:
        require_tensorboard()
    path = Path(directory) if directory is not None else Path(root) / f"{config.title}-{config.digest}"
    if hardware.to_be_started:
        hardware.require_devices()
        quiet = progress.console is None
        together(partial(_run_as_one_of, config, path, data=data, hardware=hardware, quiet=quiet), hardware.devices)
        return Results(existing_run(path).rows(), path)
    return _run_here(config, path, data=data, hardware=hardware, progress=progress)


def _run_as_one_of(config: RunConfig, path: Path, *, data: Dataset | None, hardware: Hardware, quiet: bool) -> None:
    """Be one of the processes that were started for a run."""
    _run_here(config, path, data=data, hardware=hardware, progress=terminal_progress(quiet=quiet))


def _run_here(
    config: RunConfig, path: Path, *, data: Dataset | None, hardware: Hardware, progress: Progress
) -> Results:
    """Run in this process, and in those beside it that were started with it."""
    progress = progress if speaks() else Progress()
    data = data if data is not None else load(config.source, progress)
    protocols = {seed: _protocol(config, data, seed) for seed in config.seeds}
    fabric = hardware.fabric()
    with ExitStack() as stack:
        of_first(fabric, lambda: stack.enter_context(locked(path)))
        about = {"source_fingerprint": data.fingerprint, "note": data.note, "device": hardware.device}
        about |= {"processes": fabric.world_size}
        folder = of_first(fabric, lambda: open_run(path, to_toml(config), about=about, as_now=_as_now))
        progress.say(f"{config.title}: {path}")
        if data.skipped and fabric.is_global_zero:
            write_skipped_csv(path / "skipped.csv", data.skipped)
            progress.say(f"{len(data.skipped)} files cannot be used and are skipped: {path / 'skipped.csv'}")
        for seed, protocol in protocols.items():
            trial = Trial(
                config=config,
                run=folder,
                seed=seed,
                data=data,
                protocol=protocol,
                fabric=fabric,
                hardware=hardware,
                progress=progress,
            )
            of_first(fabric, partial(_keep_split, trial))
            _run_trial(trial)
        return of_first(fabric, lambda: Results(folder.rows(), path))


def _as_now(kept: str) -> str:
    """Return a configuration of an earlier version without what is no part of one any more."""
    return to_toml(from_toml(RunConfig(), kept, origin="config.toml", passed_over=[]))


def _protocol(config: RunConfig, data: Dataset, seed: int) -> Protocol:
    if config.split:
        return read_manifest(Path(config.split), source_fingerprint=data.fingerprint)
    drawn = seed if config.split_seed is None else config.split_seed
    return split(data.train_labels, data.test_labels, config.protocol, drawn)


def _keep_split(trial: Trial) -> None:
    """Write the split beside the rows; refuse to go on with another one than the run was begun with."""
    file, fingerprint = trial.run.seed(trial.seed) / "split.json", trial.data.fingerprint
    if file.exists() and read_manifest(file, source_fingerprint=fingerprint).digest != trial.protocol.digest:
        raise InputError(f"The run was begun with the split {file}, which is another one; choose another directory.")
    write_manifest(file, trial.protocol, source_fingerprint=fingerprint)


def _keep_weights(trial: Trial, record: WeightsRecord) -> None:
    """Write where the encoder's weights came from; refuse to go on with others than the run was begun with."""
    file = trial.run.seed(trial.seed) / "weights.json"
    if file.exists() and json.loads(read_text(file))["tensors"] != record.tensors:
        raise InputError(f"The run was begun with the weights in {file}, which are others; choose another directory.")
    if trial.fabric.is_global_zero:
        write_atomic(file, json.dumps(asdict(record), indent=2) + "\n")


def _run_trial(trial: Trial) -> None:
    open_sessions = of_first(trial.fabric, partial(_open_sessions, trial))
    if not open_sessions:
        return
    setting = trial.setting()
    _keep_weights(trial, setting.encoder.weights)
    kept = shared_state(trial, setting) if open_sessions[0] == 0 else None
    learner = trial.learner(setting)
    chosen_readouts(learner, trial.config.readout)
    _take_up(trial, learner, open_sessions[0])
    for session in open_sessions:
        seconds = _train(trial, learner, session, shared=kept if session == 0 else None)
        rows = _examine(trial, learner, session, seconds)
        if not trial.writes:
            continue
        trial.run.write_rows(trial.seed, session, rows)
        shown = rows[0]
        trial.progress.say(
            f"seed {trial.seed}, session {session}: all {shown.all:.1f}, old {shown.old:.1f}, new {shown.new:.1f} "
            f"({seconds:.1f} s)"
        )
        if session > 0:
            trial.state_file(session - 1).unlink(missing_ok=True)


def _open_sessions(trial: Trial) -> list[int]:
    """Return the sessions without rows."""
    sessions = range(len(trial.protocol.sessions) + 1)
    return [session for session in sessions if not trial.run.rows_file(trial.seed, session).exists()]


def _take_up(trial: Trial, learner: Learner, first: int) -> None:
    """Give the learner the state after the session before this one, unless its state after this one is there."""

    def before() -> State | None:
        return load_state(trial.state_file(first - 1)) if first and not trial.state_file(first).exists() else None

    state = of_first(trial.fabric, before)
    if state is not None:
        learner.load_state_dict(state.tensors)


def _train(trial: Trial, learner: Learner, session: int, *, shared: Path | None = None) -> float:
    """Learn from the session, or take up what was learned here or in the shared place; return the seconds it took."""
    kept = trial.state_file(session)
    state = of_first(trial.fabric, lambda: load_state(kept) if kept.exists() else None)
    if state is not None:
        learner.load_state_dict(state.tensors)
    else:
        place = Shared(shared, trial.fabric)
        first = session == 0
        seconds = learn_offline(learner, _labelled(trial), place) if first else _discover(trial, learner, session)
        state = State(learner.state_dict(), {"seconds": seconds})
        if trial.writes:
            save_state(kept, state)
    if trial.writes:
        shutil.rmtree(trial.places, ignore_errors=True)
    return float(state.values["seconds"])


def _labelled(trial: Trial) -> LabelledSet:
    rows = trial.protocol.offline
    return LabelledSet(images=select(trial.data.train, rows), labels=trial.classes(trial.data.train_labels[rows]))


def _discover(trial: Trial, learner: Learner, session: int) -> float:
    """Learn from an online session; return the seconds it took."""
    part = trial.protocol.sessions[session - 1]
    unlabelled = UnlabelledSet(images=select(trial.data.train, part.train))
    started = time.perf_counter()
    learner.discover(unlabelled, len(part.novel) if trial.config.novel_given else None)
    return time.perf_counter() - started


def _examine(trial: Trial, learner: Learner, session: int, seconds: float) -> list[Row]:
    protocol, config = trial.protocol, trial.config
    parts = protocol.sessions
    test = protocol.offline_test if session == 0 else parts[session - 1].test
    met = len(protocol.known) + sum(len(part.novel) for part in parts[:session])
    examination = Examination(
        images=select(trial.data.test, test),
        truth=trial.classes(trial.data.test_labels[test]),
        session=session,
        initial=len(protocol.known),
        before=met if session == 0 else len(parts[session - 1].known),
        classes=met if config.novel_given else learner.n_classes,
    )
    seed = trial.seeds.integer("readout", session)
    readings = read_off(learner, examination, config.readout, seed=seed)
    if trial.writes:
        keep_predictions(trial.run.seed(trial.seed) / f"session-{session}.npz", examination, readings, learner)
    base = Row(
        run=trial.run.name,
        method=METHODS.of(config.method).name,
        data=SOURCES.of(config.source).name,
        protocol=protocol.digest,
        seed=trial.seed,
        session=session,
        partition="",
        assignment="",
        readout="",
        classes=examination.classes,
        all=0.0,
        old=0.0,
        new=0.0,
        seconds=seconds,
        memory=learner.memory_bytes,
    )
    return [row for reading in readings for row in score(reading, examination, base)]
