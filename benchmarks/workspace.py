"""Ids that stay, novelty, numbers of new classes and confidence, beside k-means on every batch with matched centroids.

    python benchmarks/workspace.py                                  # digits, mixtures; 5 seeds
    python benchmarks/workspace.py --features FILE.npz --known 50   # rows `x` and class ids `y` of your own
    python benchmarks/workspace.py --quick                          # one small stream: does it run?

`stable`: of the images that a class shows in the sessions after the one it came in, the share that carries the id most
of its images got then; 0 for a class that got none of its own. `known`: share of the images of taught classes that
carry their class's id. `AUROC`: novel images, of classes not met before, against all others, by the novelty score; mean
over sessions. `count`: mean of |found - true| new classes per session. `inside`: how often the interval holds the
truth. `false`: new classes found per session that brings none. `ECE`: calibration error of the confidence that an
image's class is right, a new id standing for the class that most of its images are of. Ids are best guesses, those of
images that are called unsure included.
"""

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matching import Matching
from streams import Plan, Stream, digits, mixture, table

from metagcd.evaluate import detection
from metagcd.workspace.judging import fit_judge
from metagcd.workspace.reliability import reliability
from metagcd.workspace.sorting import sort_session
from metagcd.workspace.table import table_of

COLUMNS = ("stable", "known", "AUROC", "count", "inside", "false", "ECE", "seconds")


@dataclass
class Answer:
    """What one of the two says of a session."""

    ids: np.ndarray
    confidence: np.ndarray
    novelty: np.ndarray
    found: int
    low: int
    high: int


@dataclass
class Tally:
    """All that is scored on one stream."""

    first: dict[int, str] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    stated: list[np.ndarray] = field(default_factory=list)
    right: list[np.ndarray] = field(default_factory=list)

    def add(self, answer: Answer, truth: np.ndarray, known: int) -> None:
        """Score a session."""
        fresh = [int(c) for c in np.unique(truth) if c >= known and int(c) not in self.first]
        novel = np.isin(truth, fresh)
        owner = owners(answer.ids[novel], truth[novel])
        for place in np.unique(truth):
            own = answer.ids[truth == place]
            if place < known:
                self.values["known"] += (own == f"known-{place}").tolist()
            elif place in fresh:
                self.first[int(place)] = own_id(own, int(place), owner)
            else:
                self.values["stable"] += (own == self.first[int(place)]).tolist()
        if novel.any() and not novel.all():
            self.values["AUROC"].append(detection(novel, answer.novelty).auroc / 100)
        self.values["count"].append(abs(answer.found - len(fresh)))
        self.values["inside"].append(answer.low <= len(fresh) <= answer.high)
        if not fresh:
            self.values["false"].append(answer.found)
        self.stated.append(answer.confidence)
        self.right.append(meaning(answer.ids, truth) == truth)

    def means(self) -> list[float]:
        """Return the scores of the stream, in the order of the columns."""
        self.values["ECE"] = [reliability(np.concatenate(self.stated), np.concatenate(self.right)).ece]
        return [float(np.mean(self.values[name])) if self.values[name] else float("nan") for name in COLUMNS]


def owners(ids: np.ndarray, truth: np.ndarray) -> dict[str, int]:
    """Return the class that each id has most images of."""
    return {str(name): int(np.bincount(truth[ids == name]).argmax()) for name in np.unique(ids)}


def own_id(ids: np.ndarray, place: int, owner: dict[str, int]) -> str:
    """Return the id that most images of a class have: none if it is a known class's or rather another new one's."""
    names, counts = np.unique(ids, return_counts=True)
    name = str(names[counts.argmax()])
    return name if name.startswith("novel-") and owner[name] == place else "none"


def meaning(ids: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the class that each image's id stands for: its own, or the one that most of its images are of."""
    stands = {}
    for name in np.unique(ids):
        own = truth[ids == name]
        stands[name] = int(name[6:]) if name.startswith("known-") else int(np.bincount(own).argmax())
    return np.array([stands[name] for name in ids])


class Sorter:
    """The decisions of a workspace."""

    def __init__(self, stream: Stream, seed: int) -> None:
        self.seed = seed
        self.table = table_of(stream.features, stream.labels, tuple(f"known-{place}" for place in range(stream.known)))
        held = stream.held_out, stream.held_out_labels
        self.judge = fit_judge(stream.features, stream.labels, *held, seed=seed)

    def discover(self, x: np.ndarray) -> Answer:
        """Sort a session."""
        out = sort_session(x, self.table, self.judge, n_novel=None, seed=self.seed)
        start = len(out.table) + 1
        self.table = out.with_groups(tuple(f"novel-{start + place:04d}" for place in range(len(out.groups))))
        ids = np.array(self.table.ids, dtype=object)[out.scores.place]
        return Answer(ids.astype(str), out.scores.confidence, out.scores.novelty,
                      out.count.k, out.count.low, out.count.high)  # fmt: skip


class Alternative:
    """k-means on every batch."""

    def __init__(self, stream: Stream, seed: int) -> None:
        self.seed = seed
        self.matching = Matching.fit(stream.features, stream.labels, stream.held_out, stream.held_out_labels)

    def discover(self, x: np.ndarray) -> Answer:
        """Cluster a session and match it."""
        ids, confidence, novelty, found = self.matching.discover(x, self.seed)
        return Answer(ids, confidence, novelty, found, found, found)


def score(kind: type, stream: Stream, seed: int) -> list[float]:
    """Score one of the two on a stream."""
    start = time.perf_counter()
    sorter, tally = kind(stream, seed), Tally()
    for x, truth in stream.sessions:
        tally.add(sorter.discover(x), truth, stream.known)
    tally.values["seconds"] = [(time.perf_counter() - start) / len(stream.sessions)]
    return tally.means()


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kinds", nargs="*", default=["digits", "mixture", "hard mixture"])
    parser.add_argument("--features", type=Path)
    parser.add_argument("--known", type=int, default=50)
    parser.add_argument("--novel", type=int, nargs="*", default=[5, 0, 10, 5, 8, 6])
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    kinds = {
        "digits": digits,
        "mixture": mixture,
        "hard mixture": lambda seed: mixture(seed, noise=1.4, looser=1.2),
    }
    chosen = {name: kinds[name] for name in (["mixture"] if arguments.quick else arguments.kinds)}
    if arguments.features:
        plan = Plan(known=arguments.known, novel=tuple(arguments.novel), present=0.8)
        chosen = {arguments.features.stem: lambda seed: table(arguments.features, seed, plan)}
    print(f"{'stream':>12} {'':>11} " + " ".join(f"{name:>14}" for name in COLUMNS))
    for name, draw in chosen.items():
        for label, kind in (("ours", Sorter), ("alternative", Alternative)):
            rows = [score(kind, draw(seed), seed) for seed in range(1 if arguments.quick else arguments.seeds)]
            cells = " ".join(f"{np.mean(column):>6.3f} ± {np.std(column):>5.3f}" for column in zip(*rows, strict=True))
            print(f"{name:>12} {label:>11} {cells}", flush=True)


if __name__ == "__main__":
    main()
