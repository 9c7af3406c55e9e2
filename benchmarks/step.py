"""Time and memory of one training step on stored trunk outputs, against the step without them, gradients included.

    python benchmarks/step.py                      # ViT-S/16 on the processor, 32 to 512 views: about half an hour
    python benchmarks/step.py --device cuda        # ViT-B/16, 512 views
    python benchmarks/step.py --quick              # tiny sizes: that it runs, not how fast

Reference: timm's whole network with its plain attention module, a head with explicit 65536-wide projections z, all
products z z', the loss of Eq. 4; gradients of the last block and the head. It is handed finished views: reading and
augmenting, which it would need in every step, are not counted against it. Ours: the batch read from the bank on disk
(on a graphics processor: gathered from its memory, if it fits), the last block for the class token alone, the same
head through its Gram matrix, the same loss, the same gradients. Neither updates weights. On `cuda` both compute under
bfloat16 autocast, and ours is the step of `metagcd run --capture`: its tail compiled, the whole captured as one CUDA
graph; the host waits once, after all steps.

The two take turns in one process; shown are medians. Memory: the highest of one step less what was there before it,
each in a process of its own. Break-even: epochs after which filling the bank with `--views` views per image has been
made good. Floor: the larger of our multiplications over the rate of a large matrix product, and of our bytes (stored
tokens once; weights read twice and their gradients written) over the rate of a copy, both measured here before.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

import machine
import numpy as np
import timm
import torch
from plain_step import Case, Steps, reference, step
from torch.utils.flop_counter import FlopCounterMode

from metagcd.data.rows import ArrayImages
from metagcd.data.views import Augmentation
from metagcd.engine.capture import WARM_UP, Captured
from metagcd.engine.feed import Batch, Feed
from metagcd.engine.runtime import Runtime, fabric_on
from metagcd.methods.contrastive import HeadConfig, Network
from metagcd.models import encoder_of
from metagcd.models.bank_config import BankConfig
from metagcd.models.bank_store import Banks
from metagcd.models.compiling import compiled
from metagcd.models.encoders.timm import TimmConfig
from metagcd.progress import terminal_progress
from metagcd.seeds import Seeds


def stored(case: Case, folder: Path) -> tuple[Network, Feed]:
    """Return our network, and a feed of as many random images as a batch has, with a bank of two views."""
    config = TimmConfig(model=case.model, image_size=case.image_size, weights="random", trunk_dtype=case.trunk_dtype)
    encoder = encoder_of(config, Seeds(0)).to(case.device)
    shape = (case.rows // 2, case.image_size + 32, case.image_size + 32, 3)
    feed = Feed(
        images=ArrayImages(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)),
        encoder=encoder,
        augmentation=Augmentation(),
        seeds=Seeds(0),
        runtime=Runtime(
            fabric=fabric_on(case.device, precision="bf16-mixed" if case.cuda else "32-true"),
            banks=Banks(config=BankConfig(use="on", views=2), root=folder, budget=1000.0),
        ),
    )
    return Network(encoder, case.head).to(case.device), feed


def ours(case: Case, network: Network, feed: Feed) -> Steps:
    """Return the step on stored trunk outputs, as in training: read from the disk, or gathered and captured."""

    def update(batch: Batch) -> None:
        network.zero_grad()
        step(network, batch.tokens, case)

    advance = Captured(update) if case.cuda else update

    def steps(count: int) -> None:
        for batch in feed.training(batch=case.rows // 2, first=0, last=count):
            advance(batch)
        case.wait()

    return steps


def as_trained(case: Case, network: Network) -> AbstractContextManager[None]:
    """Return a context in which the tail runs as in training: compiled on a graphics processor."""
    return compiled(network.tail, terminal_progress()) if case.cuda else nullcontext()


def floor(case: Case, network: Network, feed: Feed, measured: tuple[float, float]) -> float:
    """Return the seconds that our operations, or our bytes, would take at the measured rates."""
    (batch,) = feed.training(batch=case.rows // 2, first=0, last=1)
    with FlopCounterMode(display=False) as counter:
        step(network, batch.tokens, case)
    weights = sum(parameter.nbytes for parameter in network.parameters())
    moved = 2 * batch.tokens.numel() + 3 * weights
    return max(counter.get_total_flops() / measured[0], moved / measured[1])


def peak_mebibytes(way: str, case: Case) -> float:
    """Return how much one step adds to the memory of this process at its highest."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as places:
        if way == "reference":
            steps = reference(case)
        else:
            network, feed = stored(case, Path(folder))
            places.enter_context(as_trained(case, network))
            next(iter(feed.training(batch=case.rows // 2, first=0, last=1)))  # fills the bank
            steps = ours(case, network, feed)
        steps(WARM_UP + 1 if case.cuda else 0)  # what is captured is there before
        return machine.peak_mebibytes(lambda: steps(1), case.device)


def measure(case: Case, measured: tuple[float, float], peaks: dict[str, float]) -> str:
    """Return one line of the table."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as places:
        network, feed = stored(case, Path(folder))
        fill = (
            machine.timed(lambda _: list(feed.training(batch=case.rows // 2, first=0, last=1)).clear(), 1) / case.rows
        )
        places.enter_context(as_trained(case, network))
        ways = {"reference": reference(case), "ours": ours(case, network, feed)}
        counts = {"reference": case.repeats if case.cuda else 1, "ours": case.repeats}
        times: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(case.repeats + 1):
            for way, steps in ways.items():
                seconds = machine.timed(steps, counts[way])
                times[way] += [seconds] if turn else []
        slow, fast = (statistics.median(times[way]) for way in ways)
        least = floor(case, network, feed, measured)
    saved = 2 * (slow - fast) / case.rows  # an epoch shows two views of an image
    even = f"{case.views * fill / saved:.1f}" if saved > 0 else "never"
    cells = [
        f"{case.rows}",
        f"{slow:.4g}",
        f"{fast:.4g}",
        f"{slow / fast:.1f}",
        *(f"{mib:.0f}" for mib in peaks.values()),
    ]
    return "| " + " | ".join([*cells, f"{1000 * fill:.1f}", even, f"{least:.4g}", f"{fast / least:.1f}"]) + " |"


HEADER = (
    "| 2B | reference, s | ours, s | times faster | reference, MiB | ours, MiB "
    "| filling, ms a view | break-even, epochs | floor, s | ours / floor |"
)


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--sizes", type=int, nargs="+", help="views per step, 2B")
    parser.add_argument("--views", type=int, default=8, help="of the bank, for the break-even")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--trunk-dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peak-of", choices=["reference", "ours"], help="print one peak only, in MiB")
    return parser.parse_args()


def main() -> None:
    """Print the table."""
    options = arguments()
    case = Case(device=options.device, views=options.views, repeats=options.repeats, trunk_dtype=options.trunk_dtype)
    sizes = options.sizes or ([512] if case.cuda else [32, 64, 128, 256, 512])
    if case.cuda:
        case = replace(case, model="vit_base_patch16_224")
    if options.quick:
        head = HeadConfig(hidden=64, bottleneck=32, width=2048)
        case = replace(case, model="vit_tiny_patch16_224", image_size=32, head=head, repeats=1)
        sizes = options.sizes or [8]
    if options.peak_of:
        print(peak_mebibytes(options.peak_of, replace(case, rows=sizes[0])))
        return
    measured = machine.rates(case.device)
    device = torch.cuda.get_device_name() if case.cuda else f"{torch.get_num_threads()} threads"
    print(f"{case.model}, {case.image_size} px, {device}, torch {torch.__version__}, timm {timm.__version__};")
    target = "30 times, 0.002 s" if case.cuda else "20 times"
    print(f"{measured[0] / 1e9:.0f} G operations/s, {measured[1] / 1e9:.1f} GB/s; to be reached: {target}.\n")
    print(HEADER, "|" + " ---: |" * (HEADER.count("|") - 1), sep="\n")
    for rows in sizes:
        peaks: dict[str, float] = {}
        for way in ("reference", "ours"):
            again = [sys.executable, __file__, *sys.argv[1:], "--sizes", str(rows), "--peak-of", way]
            peaks[way] = float(subprocess.run(again, check=True, capture_output=True, text=True).stdout)
        print(measure(replace(case, rows=rows), measured, peaks), flush=True)


if __name__ == "__main__":
    main()
