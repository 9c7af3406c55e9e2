"""How far each estimate of the number of classes is off, and what it costs, over many draws.

    python benchmarks/count.py                # 20 draws of each kind
    python benchmarks/count.py --draws 50
    python benchmarks/count.py --quick        # one small draw: does it run?

Kinds: the handwritten digits (5 to 10 classes, 32 principal components, unit rows) and mixtures of 8 to 30 directions
in 64 dimensions with noise of 1.0, 1.5 and 2.5 times the length of a centre. Half of the images of 40 to 80 % of the
classes are labelled; the number is sought from the labelled classes to twice the truth.
`error` is the mean of |found - true| / true, `bias` that of (found - true) / true, `inside` how often the interval
holds the truth.
"""

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from metagcd.cluster import estimate_classes

METHODS = ("consensus", "labelled", "silhouette")
KINDS = {"digits": 0.0, "mixture 1.0": 1.0, "mixture 1.5": 1.5, "mixture 2.5": 2.5}


@dataclass
class Tally:
    """What one method did on one kind."""

    errors: list[float] = field(default_factory=list)
    inside: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def unit(x: np.ndarray) -> np.ndarray:
    """Return rows of length one in single precision."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def digits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw some of the ten digits."""
    x, truth = load_digits(return_X_y=True)
    rows = np.isin(truth, rng.choice(10, rng.integers(5, 11), replace=False))
    return unit(PCA(32, random_state=0).fit_transform(x[rows])), truth[rows]


def mixture(rng: np.random.Generator, noise: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a mixture of unequal directions."""
    truth = np.repeat(np.arange(k := int(rng.integers(8, most + 1))), rng.integers(30, 100, size=k))
    spread = noise / 8 * rng.uniform(0.7, 1.3, size=k)
    return unit(
        unit(rng.normal(size=(k, 64)))[truth] + rng.normal(size=(len(truth), 64)) * spread[truth][:, None]
    ), truth


def one_draw(kind: str, seed: int, tallies: dict[str, Tally], most: int) -> None:
    """Let every method count the classes of one draw."""
    rng = np.random.default_rng(seed)
    x, truth = digits(rng) if kind == "digits" else mixture(rng, KINDS[kind], most)
    classes = rng.permutation(np.unique(truth))
    known = classes[: max(2, round(len(classes) * rng.uniform(0.4, 0.8)))]
    labels = np.where(np.isin(truth, known) & (rng.random(len(truth)) < 0.5), truth, -1)
    for method in METHODS:
        start = time.perf_counter()
        found = estimate_classes(
            x, known_labels=labels, low=len(known), high=2 * len(classes), seed=seed, method=method
        )
        tallies[method].seconds.append(time.perf_counter() - start)
        tallies[method].errors.append((found.k - len(classes)) / len(classes))
        tallies[method].inside.append(found.low <= len(classes) <= found.high)


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    print(f"{'kind':>12} {'method':>10} {'error':>6} {'bias':>6} {'inside':>6} {'seconds':>8}")
    for kind in ["mixture 1.0"] if arguments.quick else KINDS:
        tallies = {method: Tally() for method in METHODS}
        for seed in range(1 if arguments.quick else arguments.draws):
            one_draw(kind, seed, tallies, 8 if arguments.quick else 30)
        for method, tally in tallies.items():
            errors = np.array(tally.errors)
            print(
                f"{kind:>12} {method:>10} {abs(errors).mean():>6.3f} {errors.mean():>+6.3f}"
                f" {np.mean(tally.inside):>6.2f} {np.mean(tally.seconds):>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
