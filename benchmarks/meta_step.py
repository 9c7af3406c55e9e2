"""Time and memory of a meta-step: first order, second order, and second order with recomputation.

    python benchmarks/meta_step.py [--device cuda] [--quick]

What is trained is the last block of a ViT-S/16 on stored tokens and the projection head, all with random weights; a
meta-step is ten inner updates of the soft neighbourhood loss and one outer gradient of the supervised contrastive one.
Times: all ways in one process, taking turns, median of the repeats. Memory: each way in a process of its own, because a
process's peak never falls again: on a CPU the peak of resident memory during one step less that before it, on a GPU
the peak of allocated memory less that before it. Weights and the stored tokens of all batches are there before.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import torch
from timm.models.vision_transformer import Block
from torch import Tensor, nn

from metagcd.engine.meta import Bilevel, InnerLoop, Parameters, meta_gradient
from metagcd.losses import soft_neighbour_from_similarity, supcon_from_similarity
from metagcd.models.functional import call, parameters_of
from metagcd.models.head import ProjectionHead
from metagcd.models.vit_tail import ClassTokenBlock
from metagcd.seeds import Seeds


@dataclass(frozen=True, kw_only=True)
class Case:
    """The sizes of one comparison."""

    images: int = 32
    """Per batch, in two views."""
    tokens: int = 197
    dim: int = 384
    heads: int = 6
    hidden: int = 2048
    bottleneck: int = 256
    width: int = 65536
    updates: int = 10
    repeats: int = 3


QUICK = Case(images=4, tokens=17, dim=24, heads=2, hidden=32, bottleneck=16, width=256, updates=3, repeats=2)
SMALLEST = Case(images=2, tokens=5, dim=8, heads=1, hidden=8, bottleneck=4, width=16, updates=1, repeats=1)
WAYS = {
    "order 1": InnerLoop(order=1),
    "order 2": InnerLoop(recompute=False),
    "order 2, recomputed": InnerLoop(),
}


class Network(nn.Module):
    """One block, computed for the class token alone or for all tokens, under the projection head."""

    def __init__(self, case: Case, *, fold: bool) -> None:
        super().__init__()
        block = Block(case.dim, case.heads, qkv_bias=True)
        self.block = ClassTokenBlock(block) if fold else block
        self.norm = nn.LayerNorm(case.dim)
        self.head = ProjectionHead(case.dim, hidden=case.hidden, bottleneck=case.bottleneck, width=case.width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the similarities of the projections."""
        return self.head.similarity(self.norm(self.block(tokens)[:, 0]))


def prepare(case: Case, device: str, *, fold: bool) -> tuple[Bilevel[Tensor], Parameters]:
    """Return the problem and the parameters to start from."""
    with Seeds(0).torch_scope("network"):
        network = Network(case, fold=fold).to(device)
    generator = Seeds(0).torch("tokens")
    shape = (2 * case.images, case.tokens, case.dim)
    batches = [torch.randn(shape, generator=generator).to(device) for _ in range(case.updates + 1)]
    labels = torch.arange(case.images, device=device) % max(case.images // 4, 1)

    def inner(parameters: Parameters, batch: Tensor) -> Tensor:
        return soft_neighbour_from_similarity(call(network, parameters, batch), threshold=0.85, temperature=0.07)

    def outer(parameters: Parameters) -> Tensor:
        return supcon_from_similarity(call(network, parameters, batches[-1]), labels, temperature=0.07)

    return Bilevel(inner=inner, batches=batches[:-1], outer=outer), parameters_of(network)


def step(way: str, problem: Bilevel[Tensor], parameters: Parameters) -> None:
    """Take one meta-gradient."""
    meta_gradient(problem, parameters, WAYS[way])
    if next(iter(parameters.values())).is_cuda:
        torch.cuda.synchronize()


def seconds(case: Case, device: str, *, fold: bool) -> dict[str, float]:
    """Return the median time of a step, the ways taking turns after one round that is not counted."""
    problem, parameters = prepare(case, device, fold=fold)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(case.repeats + 1):
        for way in WAYS:
            start = time.perf_counter()
            step(way, problem, parameters)
            if turn:
                times[way].append(time.perf_counter() - start)
    return {way: statistics.median(taken) for way, taken in times.items()}


def peak_mebibytes(way: str, case: Case, device: str, *, fold: bool) -> float:
    """Return how much one step adds to the memory of this process at its peak."""
    step(way, *prepare(SMALLEST, device, fold=fold))  # loads libraries and kernels
    problem, parameters = prepare(case, device, fold=fold)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(way, problem, parameters)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(way, problem, parameters)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10


def table(taken: dict[str, float], peaks: dict[str, float]) -> str:
    """Return the measures as lines, with the ratios and their targets."""
    lines = [f"{'':24}{'seconds':>12}{'MiB':>12}"]
    lines += [f"{way:24}{taken[way]:12.4g}{peaks[way]:12.4g}" for way in WAYS]
    slower = {way: taken[way] / taken["order 1"] for way in WAYS if way != "order 1"}
    lines += [f"{way}: {ratio:.1f} times the time of order 1 (target: at most 4)" for way, ratio in slower.items()]
    if peaks["order 2"] > 0:
        share = peaks["order 2, recomputed"] / peaks["order 2"]
        lines.append(f"order 2, recomputed: {share:.2f} of the memory of order 2 (target: at most 0.33)")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: that it runs, not how fast")
    parser.add_argument("--all-tokens", action="store_true", help="compute the block for all tokens, as timm does")
    parser.add_argument("--peak-of", choices=list(WAYS), help="print the peak of one way only, in MiB")
    options = parser.parse_args()
    case, fold = QUICK if options.quick else Case(), not options.all_tokens
    if options.peak_of:
        print(peak_mebibytes(options.peak_of, case, options.device, fold=fold))
        return
    flags = [flag for flag, on in (("--quick", options.quick), ("--all-tokens", options.all_tokens)) if on]
    again = [sys.executable, __file__, "--device", options.device, *flags]
    peaks = {
        way: float(subprocess.run([*again, "--peak-of", way], check=True, capture_output=True, text=True).stdout)
        for way in WAYS
    }
    print(f"{case}, {options.device}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(table(seconds(case, options.device, fold=fold), peaks))


if __name__ == "__main__":
    main()
