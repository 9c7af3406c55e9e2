"""Time and memory of the head's similarities against the explicit product, gradients included.

    python benchmarks/head.py [--device cuda] [--quick]

Times: both ways in one process, taking turns, median of the repeats. Memory: each way in a process of its own,
because a process's peak never falls again: on a CPU the peak of resident memory during one step less that before
it, on a GPU the peak of allocated memory less that before it. Weights and features are there before; the gradients
of the weights are part of both steps.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from metagcd.losses import info_nce_from_similarity
from metagcd.models.head import ProjectionHead
from metagcd.seeds import Seeds


@dataclass(frozen=True, kw_only=True)
class Case:
    """The sizes of one comparison."""

    rows: int = 512
    dim: int = 768
    hidden: int = 2048
    bottleneck: int = 256
    width: int = 65536
    repeats: int = 5


QUICK = Case(rows=64, dim=32, hidden=64, bottleneck=16, width=2048, repeats=2)
TARGETS = {"seconds": 3.0, "MiB": 5.0}


def explicit(head: ProjectionHead, h: Tensor) -> Tensor:
    """Form the projections and multiply them out."""
    z = head.project(h)
    return z @ z.T


def small(head: ProjectionHead, h: Tensor) -> Tensor:
    """Let the head choose."""
    return head.similarity(h)


WAYS: dict[str, Callable[[ProjectionHead, Tensor], Tensor]] = {"explicit": explicit, "similarity": small}


def prepare(case: Case, device: str) -> tuple[ProjectionHead, Tensor]:
    """Return the head and features."""
    with Seeds(0).torch_scope("head"):
        head = ProjectionHead(case.dim, hidden=case.hidden, bottleneck=case.bottleneck, width=case.width)
    h = torch.randn(case.rows, case.dim, generator=Seeds(0).torch("features"))
    return head.to(device), h.to(device)


def step(way: str, head: ProjectionHead, h: Tensor) -> None:
    """Take one loss and its gradients."""
    head.zero_grad(set_to_none=True)
    info_nce_from_similarity(WAYS[way](head, h), temperature=1.0).backward()
    if h.is_cuda:
        torch.cuda.synchronize()


def seconds(case: Case, device: str) -> dict[str, float]:
    """Return the median time of a step, the two ways taking turns after one round that is not counted."""
    head, h = prepare(case, device)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(case.repeats + 1):
        for way in WAYS:
            start = time.perf_counter()
            step(way, head, h)
            if turn:
                times[way].append(time.perf_counter() - start)
    return {way: statistics.median(taken) for way, taken in times.items()}


def peak_mebibytes(way: str, case: Case, device: str) -> float:
    """Return how much one step adds to the memory of this process at its peak."""
    head, h = prepare(case, device)
    tiny, few = prepare(Case(rows=8, dim=8, hidden=8, bottleneck=4, width=64), device)
    step(way, tiny, few)  # loads libraries and kernels
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(way, head, h)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(way, head, h)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10


def floor(case: Case) -> dict[str, float]:
    """Return the fewest billions of multiply-adds of the products with the wide layer, forward and backward."""
    n, b, width = case.rows, case.bottleneck, case.width
    explicit = n * width * b * 3 + n * n * width * 2  # backward: two products for z = W b, one for the symmetric z z'
    small = width * b * b * 2  # backward: one product for the symmetric W'W
    return {"explicit": explicit / 1e9, "similarity": small / 1e9}


def table(rows: dict[str, dict[str, float]]) -> str:
    """Return the measures as lines, with the ratio and its target."""
    lines = [f"{'':24}{'explicit':>12}{'similarity':>12}{'ratio':>8}{'target':>8}"]
    for name, row in rows.items():
        ratio = f"{row['explicit'] / row['similarity']:.1f}" if row["similarity"] > 0 else "-"
        target = f"{TARGETS[name]:.0f}" if name in TARGETS else ""
        lines.append(f"{name:24}{row['explicit']:12.4g}{row['similarity']:12.4g}{ratio:>8}{target:>8}")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: that it runs, not how fast")
    parser.add_argument("--peak-of", choices=list(WAYS), help="print the peak of one way only, in MiB")
    options = parser.parse_args()
    case = QUICK if options.quick else Case()
    if options.peak_of:
        print(peak_mebibytes(options.peak_of, case, options.device))
        return
    again = [sys.executable, __file__, "--device", options.device, *(["--quick"] if options.quick else [])]
    peaks = {
        way: float(subprocess.run([*again, "--peak-of", way], check=True, capture_output=True, text=True).stdout)
        for way in WAYS
    }
    device = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"{case}, {options.device}, {device}, torch {torch.__version__}")
    print(table({"seconds": seconds(case, options.device), "MiB": peaks, "Gmultiply-adds (floor)": floor(case)}))


if __name__ == "__main__":
    main()
