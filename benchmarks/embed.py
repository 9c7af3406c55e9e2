"""Time features of pictures on disk, end to end, against the bare network on tensors that already lie in memory.

    python benchmarks/embed.py --model vit_small_patch16_224.dino            # about five minutes
    python benchmarks/embed.py --device cuda --model vit_base_patch16_224.dino --count 20000 --batch 256 --threads 8
    python benchmarks/embed.py --quick      # a tiny run that shows that everything works; its rates mean nothing

Three loops run in turn, in bfloat16, with random weights (the speed is that of the real ones): timm's whole network
under autocast on one batch again and again; our trunk on the same batch; and files to features: read, decode, resize,
normalise, trunk, tail. The last over the first is what the pipeline costs. Pictures are generated, a 1/f texture as
JPEG of 320 to 500 pixels; the first round of each loop is not counted.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image

from metagcd.data.decode import Decoding
from metagcd.data.files import FileImages, Paths
from metagcd.data.loader import Loading, load_evaluation
from metagcd.models import Encoder, encoder_of
from metagcd.models.encoders.timm import TimmConfig
from metagcd.seeds import Seeds

SIDE = 1024


def main() -> None:
    """Make pictures, run the three loops in turn, print their medians."""
    options = arguments()
    rng = np.random.default_rng(0)
    encoder = encoder_of(TimmConfig(model=options.model, weights="random", trunk_dtype="bfloat16"), Seeds(0))
    encoder = encoder.to(options.device).eval()
    with tempfile.TemporaryDirectory() as folder:
        names = make_pictures(Path(folder), options.count, rng)
        decoding = Decoding(size=round(encoder.spec.size / encoder.spec.crop_fraction))
        images = FileImages(Paths.of(folder, names), decoding)
        loading = Loading(batch=options.batch, threads=options.threads, ahead=options.threads, device=options.device)
        loops: dict[str, Callable[[], int]] = {
            "timm on tensors": bare_loop(plain_network(options.model, encoder, options.device), encoder, options),
            "trunk on tensors": bare_loop(encoder.trunk, encoder, options),
            "files to features": lambda: embed_files(encoder, images, loading),
        }
        rates: dict[str, list[float]] = {name: [] for name in loops}
        for number in range(options.rounds + 1):
            for name, loop in loops.items():
                rate = timed(loop, options.device)
                if number:
                    rates[name].append(rate)
    report(rates)


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="vit_small_patch16_224.dino")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=1000, help="pictures per round")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
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


def plain_network(model: str, encoder: Encoder, device: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return timm's own network under autocast."""
    size = {"img_size": encoder.spec.size} if timm.get_pretrained_cfg(model).fixed_input_size else {}
    network = timm.create_model(model, num_classes=0, **size).to(device).eval()

    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode(), torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
            return network(x)

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


def embed_files(encoder: Encoder, images: FileImages, loading: Loading) -> int:
    """Embed every picture; the features stay on the device until the end."""
    with torch.inference_mode():
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


def report(rates: dict[str, list[float]]) -> None:
    """Print the median rate of each loop and its share of the first."""
    medians = {name: statistics.median(values) for name, values in rates.items()}
    first = next(iter(medians.values()))
    print(f"torch {torch.__version__}, timm {timm.__version__}, {torch.get_num_threads()} threads")
    for name, rate in medians.items():
        low, high = min(rates[name]), max(rates[name])
        print(f"{name:20} {rate:9.1f} images/s ({low:.1f} to {high:.1f})  {100 * rate / first:5.1f} %")


if __name__ == "__main__":
    main()
