"""How far each estimate of the number of classes is off, and what it costs, over many draws.

    python benchmarks/count.py                # 12 draws of each kind, some ten minutes alone on two cores
    python benchmarks/count.py --draws 50
    python benchmarks/count.py --kinds digits "mixture 2.5" --methods calibrated
    python benchmarks/count.py --quick        # one small draw: does it run?

Sets: handwritten digits (5 to 10 classes, 32 principal components, unit rows); features of digits from the network
that `gcd-digits` trains on seven of them (four such networks take turns; none to three of the other digits); mixtures
of 8 to 30 directions in 64 dimensions, 30 to 100 rows each, with noise of 1.0, 1.5 and 2.5 times the length of a
centre; "uneven" is the second of them with 10 to 300 rows. Half of the rows of 40 to 80 % of the classes are labelled,
of the features 80 % of the seven; the number is sought from the labelled classes to twice the truth.

Sessions: of the known classes there are means and numbers of rows alone, half of them or more appear among the rows,
with 5 to 30 each, and so do 0 to 3 novel ones (mixtures: to 6) with 30 to 90. The silhouette takes all known classes to
be there.

`error` is the mean of |found - true| over all classes, `bias` that of (found - true), `inside` how often the interval
holds the truth, `width` its mean width over all classes. In sessions novel classes are counted.
"""

import argparse
import time
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from metagcd.cluster import NumberOfClasses, count_novel, estimate_classes, price_of

METHODS = ("calibrated", "labelled", "silhouette")
MIXTURES = {"mixture 1.0": (1.0, 30, 100), "mixture 1.5": (1.5, 30, 100), "mixture 2.5": (2.5, 30, 100)}
UNEVEN = {"uneven": (1.5, 10, 300)}
SETS = ("digits", "features", *MIXTURES, *UNEVEN)
SESSIONS = ("digits session", "features session", "mixture 1.5 session")
FIRST = 100
"""Seed of the first draw; lower ones served to develop the method."""
TAILS = 4
KNOWN = 7


@dataclass
class Tally:
    """What one method did on one kind."""

    errors: list[float] = field(default_factory=list)
    inside: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, found: NumberOfClasses, true: int, seconds: float, *, known: int = 0) -> None:
        """Take note of one answer."""
        self.errors.append((found.k - true) / (known + true))
        self.inside.append(found.low <= true <= found.high)
        self.widths.append((found.high - found.low) / (known + true))
        self.seconds.append(seconds)

    def line(self) -> str:
        """Return the means."""
        errors = np.array(self.errors)
        inside, width, seconds = (float(np.mean(values)) for values in (self.inside, self.widths, self.seconds))
        return f"{abs(errors).mean():>6.3f} {errors.mean():>+6.3f} {inside:>6.2f} {width:>6.2f} {seconds:>8.2f}"


@dataclass(frozen=True)
class Pool:
    """Rows to draw from: classes from 0 on, the known ones first, and which rows may be labelled."""

    x: np.ndarray
    truth: np.ndarray
    known: int
    labelled: np.ndarray


def unit(x: np.ndarray) -> np.ndarray:
    """Return rows of length one in single precision."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def renumbered(truth: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return labels by the place of their class in the order."""
    place = np.empty(order.max() + 1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[truth]


def digits(rng: np.random.Generator) -> Pool:
    """Draw some of the ten digits."""
    x, truth = load_digits(return_X_y=True)
    chosen = rng.choice(10, rng.integers(5, 11), replace=False)
    rows = np.isin(truth, chosen)
    return half_labelled(unit(PCA(32, random_state=0).fit_transform(x[rows])), truth[rows], rng)


def mixture(rng: np.random.Generator, noise: float, few: int, many: int, most: int) -> Pool:
    """Draw a mixture of unequal directions."""
    truth = np.repeat(np.arange(k := int(rng.integers(8, most + 1))), rng.integers(few, many, size=k))
    spread = noise / 8 * rng.uniform(0.7, 1.3, size=k)
    centres, noises = unit(rng.normal(size=(k, 64))), rng.normal(size=(len(truth), 64))
    return half_labelled(unit(centres[truth] + noises * spread[truth][:, None]), truth, rng)


def half_labelled(x: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> Pool:
    """Label half of the rows of some classes."""
    classes = np.unique(truth)
    known = max(2, round(len(classes) * rng.uniform(0.4, 0.8)))
    truth = renumbered(truth, rng.permutation(classes))
    return Pool(x, truth, known, (truth < known) & (rng.random(len(x)) < 0.5))


@cache
def trained(seed: int) -> Pool:
    """Train the network of `gcd-digits` on 80 % of seven digits; return the features of all training images."""
    from metagcd.data import load
    from metagcd.data.rows import select
    from metagcd.experiment.presets import load_preset
    from metagcd.methods import METHODS as LEARNERS
    from metagcd.methods.learner import Setting
    from metagcd.models import encoder_of
    from metagcd.seeds import Seeds
    from metagcd.types import LabelledSet

    config, rng = load_preset("gcd-digits"), np.random.default_rng(seed)
    data = load(config.source)
    truth = renumbered(data.train_labels, rng.permutation(10))
    labelled = (truth < KNOWN) & (rng.random(len(truth)) < 0.8)
    setting = Setting(
        encoder=encoder_of(config.encoder, Seeds(seed)), seeds=Seeds(seed), augmentation=config.augmentation
    )
    learner = LEARNERS.of(config.method).target(config.method, setting)
    rows = np.flatnonzero(labelled)
    learner.fit_offline(LabelledSet(images=select(data.train, rows), labels=truth[rows]))
    return Pool(learner.embed(data.train), truth, KNOWN, labelled)


def pool(kind: str, seed: int, most: int) -> tuple[Pool, np.random.Generator]:
    """Draw rows of one kind."""
    rng = np.random.default_rng(seed)
    if kind.startswith("digits"):
        return digits(rng), rng
    if kind.startswith("features"):
        return trained(seed % TAILS), rng
    return mixture(rng, *(MIXTURES | UNEVEN)[kind.removesuffix(" session")], most), rng


def one_set(kind: str, seed: int, tallies: dict[str, Tally], most: int) -> None:
    """Let every method count the classes of one set."""
    drawn, rng = pool(kind, seed, most)
    x, labels, truth = drawn.x, np.where(drawn.labelled, drawn.truth, -1), drawn.truth
    if kind == "features":
        novel = KNOWN + rng.permutation(10 - KNOWN)[: rng.integers(0, 11 - KNOWN)]
        rows = (truth < KNOWN) | np.isin(truth, novel)
        x, labels, truth = x[rows], labels[rows], truth[rows]
    classes = len(np.unique(truth))
    for method, tally in tallies.items():
        start = time.perf_counter()
        found = estimate_classes(x, known_labels=labels, low=drawn.known, high=2 * classes, seed=seed, method=method)
        tally.add(found, classes, time.perf_counter() - start)


def one_session(kind: str, seed: int, tallies: dict[str, Tally], most: int) -> None:
    """Let both methods that need no labels in a session count its novel classes."""
    drawn, rng = pool(kind, seed, most)
    known, first, own = drawn.known, drawn.x[drawn.labelled], drawn.truth[drawn.labelled]
    others = np.arange(known, drawn.truth.max() + 1)
    novel = rng.permutation(others)[: rng.integers(0, min(len(others), 6) + 1)]
    present = rng.permutation(known)[: rng.integers((known + 1) // 2, known + 1)]
    rows = np.concatenate(
        [
            rng.permutation(np.flatnonzero((drawn.truth == label) & ~drawn.labelled))[: rng.integers(*numbers)]
            for labels, numbers in ((present, (5, 30)), (novel, (30, 90)))
            for label in labels
        ]
    )
    x = drawn.x[rows]
    means = np.stack([first[own == label].mean(axis=0) for label in range(known)])
    for method, tally in tallies.items():
        start = time.perf_counter()
        if method == "calibrated":
            price = price_of(first, own, seed=seed)
            found = count_novel(x, means, np.bincount(own), price, seed=seed)
        else:
            high = max(known, min(2 * known + 10, len(x) - 1))
            all_known = estimate_classes(x, low=min(known, high), high=high, seed=seed, method="silhouette")
            found = NumberOfClasses(*(k - known for k in (all_known.k, all_known.low, all_known.high)))
        tally.add(found, len(novel), time.perf_counter() - start, known=known)


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--kinds", nargs="+", default=(*SETS, *SESSIONS), choices=(*SETS, *SESSIONS))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    print(f"{'kind':>20} {'method':>10} {'error':>6} {'bias':>6} {'inside':>6} {'width':>6} {'seconds':>8}")
    for kind in ["mixture 1.0", "mixture 1.5 session"] if arguments.quick else arguments.kinds:
        if kind.startswith("features"):
            for seed in range(TAILS):
                trained(seed)
        work = one_session if kind in SESSIONS else one_set
        tallies = {method: Tally() for method in arguments.methods if kind in SETS or method != "labelled"}
        for seed in range(FIRST, FIRST + (1 if arguments.quick else arguments.draws)):
            work(kind, seed, tallies, 8 if arguments.quick else 30)
        for method, tally in tallies.items():
            print(f"{kind:>20} {method:>10} {tally.line()}", flush=True)


if __name__ == "__main__":
    main()
