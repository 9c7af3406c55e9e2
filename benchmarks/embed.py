"""Time features of pictures on disk, end to end, against the bare network on tensors that already lie in memory.

    python benchmarks/embed.py --model vit_small_patch16_224.dino            # about five minutes
    python benchmarks/embed.py --compile                                     # the same, all networks compiled
    python benchmarks/embed.py --device cuda --model vit_base_patch16_224.dino --count 20000 --batch 256 --threads 8
    python benchmarks/embed.py --quick      # a tiny run that shows that everything works; its rates mean nothing

Four loops run in turn, in bfloat16, with random weights (the speed is that of the real ones): timm's whole network
under autocast on one batch again and again; our trunk on the same batch; pixels to rows: what fills a bank but for the
disk, random views of images in memory, trunk, rounding; and files to features: read, decode, resize, normalise, trunk,
tail. Their rates over the first are what the pipelines cost. On `cuda`, or with `--compile`, all networks are compiled,
and the first round waits for that. Floor: the trunk's operations over the rate of a large matrix product, found here.
Pictures are generated, a 1/f texture as JPEG of 320 to 500 pixels; the first round of each loop is not counted.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import machine
import numpy as np
import timm
import torch
from PIL import Image
from torch.utils.flop_counter import FlopCounterMode

from metagcd.data.decode import Decoding
from metagcd.data.files import FileImages, Paths
from metagcd.data.loader import Loading, load_evaluation
from metagcd.data.rows import ArrayImages
from metagcd.data.views import Augmentation
from metagcd.models import Encoder, encoder_of
from metagcd.models.bank_key import BankKey
from metagcd.models.bank_source import BankSource
from metagcd.models.compiling import compiled
from metagcd.models.encoder import Read
from metagcd.models.encoders.timm import TimmConfig
from metagcd.progress import terminal_progress
from metagcd.seeds import Seeds

SIDE = 1024
VIEWS = 8


def main() -> None:
    """Make pictures, run the four loops in turn, print their medians."""
    options = arguments()
    rng = np.random.default_rng(0)
    encoder = encoder_of(TimmConfig(model=options.model, weights="random", trunk_dtype="bfloat16"), Seeds(0))
    encoder = encoder.to(options.device).eval()
    plain = encoder.trunk.read
    quick = compiled(encoder.trunk, terminal_progress()) if options.compile else nullcontext()
    with tempfile.TemporaryDirectory() as folder, quick:
        names = make_pictures(Path(folder), options.count, rng)
        decoding = Decoding(size=round(encoder.spec.size / encoder.spec.crop_fraction))
        images = FileImages(Paths.of(folder, names), decoding)
        loading = Loading(batch=options.batch, threads=options.threads, ahead=options.threads, device=options.device)
        loops: dict[str, Callable[[], int]] = {
            "timm on tensors": bare_loop(plain_network(encoder, options), encoder, options),
            "trunk on tensors": bare_loop(encoder.trunk, encoder, options),
            "trunk not compiled": bare_loop(as_it_is(encoder, plain), encoder, options),
            "pixels to rows": rows_loop(encoder, options, loading),
            "files to features": lambda: embed_files(encoder, images, loading),
        }
        if not options.compile:
            del loops["trunk not compiled"]
        rates: dict[str, list[float]] = {name: [] for name in loops}
        for number in range(options.rounds + 1):
            for name, loop in loops.items():
                rate = timed(loop, options.device)
                if number:
                    rates[name].append(rate)
    report(rates, options, floor(encoder, options.device))


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="vit_small_patch16_224.dino")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=1000, help="pictures per round")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.compile = options.compile or options.device == "cuda"
    if options.quick:
        options.model, options.count, options.batch, options.rounds = "vit_tiny_patch16_224", 8, 4, 1
    return options


def make_pictures(folder: Path, count: int, rng: np.random.Generator) -> list[str]:
    """Write JPEG files; return their names."""
    y, x = np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None]
    spectrum = rng.standard_normal((3, SIDE, SIDE // 2 + 1)) / np.maximum(np.hypot(x, y), 1 / SIDE)
    waves = np.fft.irfft2(spectrum * np.exp(2j * np.pi * rng.random(spectrum.shape)), s=(SIDE, SIDE))
    ground = np.clip(128 + 45 * waves / waves.std(), 0, 255).astype(np.uint8).transpose(1, 2, 0)
    names = [f"{number:06}.jpg" for number in range(count)]
    for name in names:
        width, height = rng.integers(320, 501, 2)
        left, top = rng.integers(0, SIDE - width), rng.integers(0, SIDE - height)
        Image.fromarray(ground[top : top + height, left : left + width]).save(folder / name, quality=90)
    return names


def plain_network(encoder: Encoder, options: argparse.Namespace) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return timm's own network under autocast."""
    size = {"img_size": encoder.spec.size} if timm.get_pretrained_cfg(options.model).fixed_input_size else {}
    network = timm.create_model(options.model, num_classes=0, **size).to(options.device).eval()
    if options.compile:
        network = torch.compile(network)

    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), torch.autocast(torch.device(options.device).type, dtype=torch.bfloat16):
            return network(x)

    return forward


def as_it_is(encoder: Encoder, read: Read) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return our trunk as it runs where it is not compiled."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        quick, encoder.trunk.read = encoder.trunk.read, read
        try:
            return encoder.trunk(x)
        finally:
            encoder.trunk.read = quick

    return forward


def bare_loop(
    forward: Callable[[torch.Tensor], torch.Tensor], encoder: Encoder, options: argparse.Namespace
) -> Callable[[], int]:
    """Return a loop over one batch in memory, as often as the files would fill it."""
    size = encoder.spec.size
    x = torch.randn(options.batch, 3, size, size).to(options.device)
    times = max(1, options.count // options.batch)

    def loop() -> int:
        for _ in range(times):
            forward(x)
        return times * options.batch

    return loop


def rows_loop(encoder: Encoder, options: argparse.Namespace, loading: Loading) -> Callable[[], int]:
    """Return a loop over the random views of images in memory, which ends in the rows of a bank."""
    count, side = max(options.count // VIEWS, 1), round(encoder.spec.size / encoder.spec.crop_fraction)
    pixels = np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    key = BankKey(
        images="",
        trunk="",
        precision="",
        spec=encoder.spec,
        views=tuple(range(1, VIEWS + 1)),
        augmentation=Augmentation(),
        seed=0,
        redraw=0,
        dtype="bfloat16",
    )
    source = BankSource(images=ArrayImages(pixels), encoder=encoder, trunk=encoder.trunk, key=key, loading=loading)
    share = max(options.batch // VIEWS, 1)
    order = [np.arange(start, min(start + share, count)) for start in range(0, count, share)]

    def loop() -> int:
        return sum(len(rows) for rows in source.outputs(order, key.views))

    return loop


def floor(encoder: Encoder, device: str) -> float:
    """Return the images per second at which the trunk would run at the rate of a large matrix product."""
    size = encoder.spec.size
    with FlopCounterMode(display=False) as counter:
        encoder.trunk(torch.randn(1, 3, size, size, device=device))
    return machine.rates(device, torch.bfloat16)[0] / counter.get_total_flops()


def embed_files(encoder: Encoder, images: FileImages, loading: Loading) -> int:
    """Embed every picture; the features stay on the device until the end."""
    with torch.no_grad():
        features = [encoder.embed(x) for _, x in load_evaluation(images, spec=encoder.spec, loading=loading)]
    return len(torch.cat(features).cpu())


def timed(loop: Callable[[], int], device: str) -> float:
    """Return images per second of one round."""
    cuda = torch.device(device).type == "cuda"
    if cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    count = loop()
    if cuda:
        torch.cuda.synchronize()
    return count / (time.perf_counter() - start)


def report(rates: dict[str, list[float]], options: argparse.Namespace, least: float) -> None:
    """Print the median rate of each loop, its share of the first and of the rate of matrix products."""
    medians = {name: statistics.median(values) for name, values in rates.items()}
    first = next(iter(medians.values()))
    name = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads"
    way = "compiled" if options.compile else "not compiled"
    print(f"{options.model}, {name}, {way}, torch {torch.__version__}, timm {timm.__version__}")
    print("to be reached: 90 % of the first line" + (", 50 % of the floor" if options.device == "cuda" else ""))
    for name, rate in medians.items():
        low, high = min(rates[name]), max(rates[name])
        print(f"{name:20} {rate:9.1f} images/s ({low:.1f} to {high:.1f})  {100 * rate / first:5.1f} %", end="")
        print(f"  {100 * rate / least:5.1f} % of the floor")


if __name__ == "__main__":
    main()
