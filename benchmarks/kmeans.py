"""k-means beside scikit-learn's, in one process on the same clustered points.

Run on a machine that does nothing else:

    python benchmarks/kmeans.py                                    # the three standard sizes
    python benchmarks/kmeans.py --sizes 10000x384x100 50000x768x200 --separation 0.2 0.4 1.0
    python benchmarks/kmeans.py --device cuda                      # ours on the GPU, scikit-learn on the processor
    python benchmarks/kmeans.py --million                          # one million stored rows, read in blocks
    python benchmarks/kmeans.py --quick                            # tiny sizes: does it run?

`ratio` is scikit-learn's seconds over ours; `inertia` is ours over scikit-learn's (below 1 is better).
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans

from metagcd.cluster import kmeans, streamed_kmeans

SIZES = ("10000x384x100", "10000x768x200", "50000x768x200")
QUICK = ("1000x16x10", "3000x32x20")
BLOCK = 20_000


def clustered(n: int, d: int, k: int, separation: float, *, seed: int) -> np.ndarray:
    """Draw points around k centres; `separation` is the spread of the centres over that of the points, per axis."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((k, d), dtype=np.float32) * separation
    return centres[rng.integers(k, size=n)] + rng.standard_normal((n, d), dtype=np.float32)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that the work took, and its result."""
    start = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def beside(size: str, separation: float, arguments: argparse.Namespace) -> None:
    """Print one row of the table."""
    n, d, k = (int(part) for part in size.split("x"))
    x = clustered(n, d, k, separation, seed=arguments.seed)
    points = torch.from_numpy(x).to(arguments.device)
    ours_seconds, ours = timed(lambda: kmeans(points, k, seed=arguments.seed, restarts=arguments.restarts))
    theirs_seconds, theirs = timed(lambda: KMeans(k, n_init=arguments.restarts, random_state=arguments.seed).fit(x))
    print(
        f"{size:>16} {separation:>10} {ours_seconds:>9.3f} {theirs_seconds:>9.3f} {theirs_seconds / ours_seconds:>7.1f}"
        f" {ours.inertia / theirs.inertia_:>9.5f}",
        flush=True,
    )


def million(n: int, d: int, k: int, seed: int) -> None:
    """Cluster rows that lie in a file; print the seconds and the most memory that was held."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npy"
        stored = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
        rng = np.random.default_rng(seed)
        centres = rng.standard_normal((k, d), dtype=np.float32) * 0.5
        for start in range(0, n, BLOCK):
            rows = min(BLOCK, n - start)
            noise = rng.standard_normal((rows, d), dtype=np.float32)
            stored[start : start + rows] = centres[rng.integers(k, size=rows)] + noise
        stored.flush()
        seconds, found = timed(lambda: streamed_kmeans(np.load(path, mmap_mode="r"), k, seed=seed))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n} x {d}, k = {k}: {seconds:.1f} s, {found.inertia / n / d:.4f} per number (1 is the noise), {peak:.1f} GiB"
    )


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="points x features x clusters")
    parser.add_argument("--separation", nargs="+", type=float, default=[0.2, 1.0])
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--million", action="store_true")
    arguments = parser.parse_args()
    if arguments.million:
        million(*((20_000, 32, 50) if arguments.quick else (1_000_000, 768, 1000)), arguments.seed)
        return
    print(f"{'size':>16} {'separation':>10} {'ours [s]':>9} {'sklearn':>9} {'ratio':>7} {'inertia':>9}")
    for size in QUICK if arguments.quick else arguments.sizes:
        for separation in arguments.separation:
            beside(size, separation, arguments)


if __name__ == "__main__":
    main()
