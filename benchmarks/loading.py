"""Time reading pictures from disk through two training views, against torchvision's usual way, side by side.

    python benchmarks/loading.py            # about five minutes
    python benchmarks/loading.py --quick    # a tiny run that shows that everything works; its rates mean nothing

Both run in turn on the same generated pictures: 64 to 500 pixels, a 1/f texture, JPEG. The usual way is ImageFolder +
DataLoader with two worker processes and the base transform called twice on each decoded picture; start-up of the
workers is not counted. What differs besides speed: ours decodes every picture to one square (`fit="crop"`: its middle),
so that a random crop is taken from the middle square and not from the whole of a long picture; it resizes once for both
views; and JPEG files of many times the size are decoded at a fraction of theirs (none here is large enough).
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision import transforms
from torchvision.datasets import ImageFolder

from metagcd.data.decode import Decoding
from metagcd.data.files import FileImages, Paths
from metagcd.data.loader import Loading, load_views
from metagcd.data.views import Augmentation
from metagcd.seeds import Seeds
from metagcd.types import InputSpec

SPEC = InputSpec(size=224)
RESIZED = round(SPEC.size / SPEC.crop_fraction)


def texture(side: int, rng: np.random.Generator) -> np.ndarray:
    """Return a coloured square whose spectrum falls as 1/f, like that of photographs."""
    y, x = np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None]
    spectrum = rng.standard_normal((3, side, side // 2 + 1)) + 1j * rng.standard_normal((3, side, side // 2 + 1))
    waves = np.fft.irfft2(spectrum / np.maximum(np.hypot(x, y), 1 / side), s=(side, side))
    # Mostly grey, as photographs are: colour channels share most of their light.
    waves = 0.8 * waves[:1] + 0.2 * waves
    return np.clip(128 + 45 * waves / waves.std(), 0, 255).astype(np.uint8).transpose(1, 2, 0)


def make_pictures(folder: Path, count: int, rng: np.random.Generator) -> list[str]:
    """Write JPEG files of random sizes into ten class folders; return their relative paths."""
    grounds = [texture(1024, rng) for _ in range(4)]
    names: list[str] = []
    for number in range(count):
        width, height = rng.integers(64, 501, 2)
        left, top = rng.integers(0, 1024 - width), rng.integers(0, 1024 - height)
        picture = grounds[number % 4][top : top + height, left : left + width]
        names.append(f"{number % 10}/{number:06}.jpg")
        (folder / names[-1]).parent.mkdir(exist_ok=True)
        Image.fromarray(picture).save(folder / names[-1], quality=90)
    return sorted(names)


def ours(folder: Path, names: list[str], batch: int) -> Callable[[int], int]:
    """Return a function that runs one epoch and returns how many images it saw."""
    images = FileImages(Paths.of(str(folder), names), Decoding(size=RESIZED, fit="crop"))
    loading = Loading(batch=batch, drop_last=False)

    def epoch(number: int) -> int:
        stream = load_views(
            images, spec=SPEC, augmentation=Augmentation(), seeds=Seeds(0), epoch=number, loading=loading
        )
        return sum(views.shape[0] // 2 for _, views in stream)

    return epoch


class Twice:
    """Call a transform two times on one picture, as the code of the GCD family does."""

    def __init__(self, transform: Callable[[Image.Image], torch.Tensor]) -> None:
        self.transform = transform

    def __call__(self, picture: Image.Image) -> list[torch.Tensor]:
        """Return both results."""
        return [self.transform(picture) for _ in range(2)]


def usual(folder: Path, batch: int) -> Callable[[int], int]:
    """Return the same for torchvision's folder, transforms and two worker processes."""
    transform = transforms.Compose(
        [
            transforms.Resize(RESIZED, transforms.InterpolationMode.BICUBIC),
            transforms.RandomCrop(SPEC.size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(SPEC.mean, SPEC.std),
        ]
    )
    loader = torch.utils.data.DataLoader(
        ImageFolder(str(folder), Twice(transform)),
        batch_size=batch,
        shuffle=True,
        num_workers=2,
        persistent_workers=True,
    )
    return lambda _: sum(torch.cat(views).shape[0] // 2 for views, _ in loader)


def compare(where: Path | None, count: int, batch: int, rounds: int) -> dict[str, float]:
    """Time both in turn on the same files, after one epoch each that is not counted; return images per second."""
    with tempfile.TemporaryDirectory(dir=where) as temporary:
        folder = Path(temporary)
        names = make_pictures(folder, count, np.random.default_rng(0))
        epochs = {"ours": ours(folder, names, batch), "usual": usual(folder, batch)}
        rates: dict[str, list[float]] = {name: [] for name in epochs}
        for number in range(rounds + 1):
            for name, epoch in epochs.items():
                start = time.perf_counter()
                seen = epoch(number)
                assert seen == count
                if number:
                    rates[name].append(seen / (time.perf_counter() - start))
        del epochs
        gc.collect()
    return {name: statistics.median(values) for name, values in rates.items()}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny run")
    parser.add_argument("--pictures", type=int, default=2_000, help="how many pictures")
    parser.add_argument("--batch", type=int, default=128, help="images per batch")
    parser.add_argument("--rounds", type=int, default=3, help="counted epochs of each; the median is shown")
    parser.add_argument("--folder", type=Path, help="where pictures are made and removed; default: the system's")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.pictures, chosen.batch, chosen.rounds = 48, 16, 1
    return chosen


def main() -> None:
    """Print both rates and their ratio."""
    chosen = arguments()
    rates = compare(chosen.folder, chosen.pictures, chosen.batch, chosen.rounds)
    print(f"ours                      {rates['ours']:8.1f} images/s")
    print(f"ImageFolder + DataLoader  {rates['usual']:8.1f} images/s")
    print(f"ratio                     {rates['ours'] / rates['usual']:8.2f} (target: at least 1.5)")


if __name__ == "__main__":
    main()
