"""Does meta-training help? Initialisations with one beginning, adapted to sequences that none of them has seen.

    python benchmarks/learns.py [--seeds 5] [--output runs/learns] [--figures docs/figures] [SETTINGS]

On every seed, session 0 is learned in each of `WAYS`. At some places along it, the initialisation is adapted, by as
many updates and at the rate of the online sessions, to pseudo sequences drawn from images it was not trained on: the
test images of the classes of session 0. Measured are the loss of Eq. 2 and the accuracy of k-means, both on the
cumulative pseudo test set, before and after. The online sessions follow. Nothing is chosen here: that is done by
`benchmarks/tune.py`, which sees neither these images nor these sessions. What is in `--output` is not done again.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from metagcd.cluster import kmeans
from metagcd.config import from_mapping, settings
from metagcd.data import load
from metagcd.data.rows import select
from metagcd.engine.checkpoint import Keeper, State, load_state, save_state
from metagcd.engine.meta import InnerLoop, adapt
from metagcd.engine.meta_task import MetaWork, draw_task, sit
from metagcd.evaluate import clustering_accuracy, compare
from metagcd.experiment.config import RunConfig
from metagcd.experiment.offline import shared_state
from metagcd.experiment.presets import load_preset
from metagcd.experiment.run import run
from metagcd.experiment.trial import Hardware, Trial
from metagcd.methods.metagcd import MetaGcd
from metagcd.models.functional import call, parameters_of
from metagcd.progress import Progress
from metagcd.protocol import split
from metagcd.report.figures import Curve, curve_figure, save_figure
from metagcd.results import Row, cell, pick, session_table
from metagcd.runs import RunDirectory, write_atomic
from metagcd.types import LabelledSet

META = "meta-trained"
WAYS = {
    META: "",
    "warm-up alone": "method.outer.rate=0.0 method.inner.updates=0",
    "no inner updates": "method.inner.updates=0",  # the same outer updates, of parameters that were not adapted before
    "Eq. 3 for as many updates": "method.meta=false method.warmup_epochs=60",
}
SEQUENCES = 5
"""Held-out pseudo sequences, the same for all initialisations of a seed."""
TEST_FRACTION = 0.3
"""Share of their images that is pseudo-test: there are few, so more than in training."""
PLACES = 3
"""Places along meta-training that are measured after its first update."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Means over all sessions of the held-out pseudo sequences, before and after adaptation."""

    way: str
    seed: int
    step: int
    """Outer updates done."""
    loss_before: float
    loss: float
    accuracy_before: float
    accuracy: float


def main() -> None:
    """Measure what is missing, print it and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("changes", nargs="*", help="settings on top of the preset")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--output", type=Path, default=Path("runs/learns"))
    parser.add_argument("--figures", type=Path, default=Path("docs/figures"))
    options = parser.parse_intermixed_args()
    base = from_mapping(load_preset("metagcd-digits"), settings(options.changes))
    base = replace(base, seeds=tuple(options.seeds))
    configs = {way: from_mapping(base, settings(changes.split())) for way, changes in WAYS.items()}
    measures: list[Measure] = []
    for way, config in configs.items():
        for seed in config.seeds:
            found = along(way, config, seed, options.output)
            measures += found
            tell(found)
    rows = {way: online(config, options.output / folder_of(way)) for way, config in configs.items()}
    pseudo = {way: [m.accuracy for m in measures if m.way == way and m.step == last(measures)] for way in WAYS}
    compared("held-out pseudo sequences, accuracy after adaptation", pseudo)
    compared("online sessions, mean of All", {way: means(own) for way, own in rows.items()})
    for way, own in rows.items():
        print(f"\n{way}\n{session_table(own).markdown()}")
    draw(measures, rows, options.figures)


def along(way: str, config: RunConfig, seed: int, output: Path) -> list[Measure]:
    """Learn session 0 of one seed, or read what was found; return the measures along it."""
    file = output / folder_of(way) / f"measures-{seed}.json"
    if not file.exists():
        write_atomic(file, json.dumps([asdict(measure) for measure in _along(way, config, seed, output)]))
    return sorted((Measure(**found) for found in json.loads(file.read_text("utf-8"))), key=lambda measure: measure.step)


def _along(way: str, config: RunConfig, seed: int, output: Path) -> Iterator[Measure]:
    """Learn session 0, keep its end for the online sessions, and measure at some places along it."""
    trial, labelled, held_out = problem(config, seed, output / folder_of(way))
    updates = config.method.tasks * len(config.method.episode.spec(len(trial.protocol.known)).novel)
    with tempfile.TemporaryDirectory() as folder:
        setting = trial.setting()
        kept = shared_state(trial, setting)
        keeper = Keeper(Path(folder), every=0.0, last=updates + 1)
        learner = trial.learner(replace(setting, runtime=replace(setting.runtime, keeper=keeper)))
        started = time.perf_counter()
        learner.fit_offline(labelled)
        save_state(kept, State(learner.state_dict(), {"seconds": time.perf_counter() - started}))
        judge = measuring(trial)
        for path in Path(folder).glob("meta*.safetensors"):
            state = load_state(path)
            step = int(state.values["step"])
            if step == 1 or (step % (updates // PLACES) == 0 and step < updates):
                names = {name.removeprefix("module."): t for name, t in state.tensors.items() if "module." in name}
                judge.trained.load_state_dict(names)
                yield Measure(way=way, seed=seed, step=step, **measured(judge.work(held_out)))
        judge.trained.load_state_dict(learner.trained.state_dict())
        yield Measure(way=way, seed=seed, step=updates, **measured(judge.work(held_out)))


def problem(config: RunConfig, seed: int, folder: Path) -> tuple[Trial, LabelledSet, LabelledSet]:
    """Return one seed of a run, its labelled images, and the test images of the same classes."""
    data, hardware = load(config.source), Hardware(shared=folder.parent / "shared")
    trial = Trial(
        config=config,
        run=RunDirectory(folder),
        seed=seed,
        data=data,
        protocol=split(data.train_labels, data.test_labels, config.protocol, config.split_seed or 0),
        fabric=hardware.fabric(),
        hardware=hardware,
        progress=Progress(),
    )
    rows, tests = trial.protocol.offline, trial.protocol.offline_test
    labelled = LabelledSet(images=select(data.train, rows), labels=trial.classes(data.train_labels[rows]))
    return trial, labelled, LabelledSet(images=select(data.test, tests), labels=trial.classes(data.test_labels[tests]))


def measuring(trial: Trial) -> MetaGcd:
    """Return a learner whose inner updates are those of the online sessions."""
    method = trial.config.method
    online = method.online
    inner = InnerLoop(updates=method.online_updates, rate=online.rate, momentum=online.momentum, batch=online.batch)
    episode = replace(method.episode, test_fraction=TEST_FRACTION)
    changed = replace(method, inner=inner, episode=episode)
    return replace(trial, config=replace(trial.config, method=changed)).learner(trial.setting())


def measured(work: MetaWork) -> dict[str, float]:
    """Return the means over all held-out pseudo sessions."""
    work.network.eval()
    before, found = parameters_of(work.network), []
    for number in range(SEQUENCES):
        task = draw_task(work, number, purpose="held-out")
        tests = task.episode.labelled_test
        for place, session in enumerate(task.episode.sessions):
            tests = np.concatenate([tests, session.test])
            adaptation = sit(work, task, place).problem(work.objectives)
            both = (before, adapt(adaptation, before, work.plan.inner))
            losses = [float(adaptation.outer(parameters).detach()) for parameters in both]
            found.append([*losses, *(accuracy(work, tests, parameters) for parameters in both)])
    names = ("loss_before", "loss", "accuracy_before", "accuracy")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def accuracy(work: MetaWork, rows: np.ndarray, parameters: dict[str, torch.Tensor]) -> float:
    """Return the accuracy of k-means on the features of these images."""
    tokens = torch.cat(list(work.part(rows, work.feed.seeds).evaluation()))
    tail = {name.removeprefix("tail."): t for name, t in parameters.items() if name.startswith("tail.")}
    with torch.no_grad():
        features = functional.normalize(call(work.network.tail, tail, tokens), dim=-1).numpy()
    classes = work.labels[rows]
    clusters = kmeans(features, len(np.unique(classes)), seed=0, restarts=10)
    return clustering_accuracy(classes, np.asarray(clusters.labels), ()).all


def online(config: RunConfig, folder: Path) -> tuple[Row, ...]:
    """Return the rows of the online sessions by k-means, from the state that session 0 ended with."""
    place = folder / f"run-{'-'.join(map(str, config.seeds))}"
    rows = run(config, directory=place, hardware=Hardware(shared=folder.parent / "shared")).rows
    return pick(rows, partition="initial", assignment="global", readout="kmeans")


def means(rows: Sequence[Row]) -> list[float]:
    """Return the mean of All over the online sessions of every seed."""
    seeds = dict.fromkeys(row.seed for row in rows)
    return [cell(row.all for row in pick(rows, seed=seed) if row.session).mean for seed in seeds]


def compared(title: str, scores: dict[str, list[float]]) -> None:
    """Print every way, and by how much meta-training differs from it on the same seeds."""
    print(f"\n{title}")
    for way, values in scores.items():
        found = compare(np.array(scores[META]), np.array(values))
        words = "" if way == META else f"; {META}: {found.difference:+.1f}, p {found.sign_flip_p_value:.3f}"
        print(f"  {way}: {cell(values).text()} ({', '.join(f'{value:.1f}' for value in values)}){words}")


def tell(measures: Sequence[Measure]) -> None:
    """Print one line each."""
    for m in measures:
        print(
            f"{m.way}, seed {m.seed}, {m.step} outer updates: Eq. 2 {m.loss_before:.2f} -> {m.loss:.2f}, "
            f"accuracy {m.accuracy_before:.1f} -> {m.accuracy:.1f}",
            flush=True,
        )


def draw(measures: Sequence[Measure], rows: dict[str, tuple[Row, ...]], figures: Path) -> None:
    """Write the figures: loss and accuracy along meta-training, and the online sessions."""
    figures.mkdir(parents=True, exist_ok=True)
    for score, label in (("loss", "Eq. 2 after adaptation"), ("accuracy", "accuracy after adaptation, %")):
        curves = [curve(way, [(m.step, getattr(m, score)) for m in measures if m.way == way]) for way in WAYS]
        save_figure(curve_figure(curves, xlabel="outer updates", ylabel=label), figures / f"learns-{score}")
    curves = [curve(way, [(row.session, row.all) for row in own]) for way, own in rows.items()]
    figure = curve_figure(curves, xlabel="session", ylabel="accuracy, %", whole=True)
    save_figure(figure, figures / "learns-sessions")


def curve(label: str, points: Sequence[tuple[int, float]]) -> Curve:
    """Return mean and spread at every place."""
    places = sorted({place for place, _ in points})
    cells = [cell(value for at, value in points if at == place) for place in places]
    return Curve(label=label, x=places, mean=[c.mean for c in cells], spread=[c.spread for c in cells])


def last(measures: Sequence[Measure]) -> int:
    """Return the number of outer updates at the end."""
    return max(measure.step for measure in measures)


def folder_of(way: str) -> str:
    """Return the name of a way's folder."""
    return way.replace(" ", "-")


if __name__ == "__main__":
    main()
