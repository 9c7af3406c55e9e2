"""Feeds of a few images whose encoder has a trunk with weights, and a look at what their banks do."""

import io
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from engine import feeds
from lightning_fabric import Fabric
from rich.console import Console

from metagcd.data.rows import ArrayImages
from metagcd.engine.feed import Feed
from metagcd.models import encoder_of
from metagcd.models.bank_config import BankConfig
from metagcd.models.bank_store import Banks
from metagcd.models.encoders.tiny import TinyConfig
from metagcd.progress import Progress
from metagcd.seeds import Seeds

ENCODER = TinyConfig(image_size=8, patch=4, width=8, depth=2, heads=1, trainable_from=1)


@dataclass
class Watched:
    """A feed, the views that passed through its trunk, and what was said."""

    feed: Feed
    passed: list[int] = field(default_factory=list)
    said: io.StringIO = field(default_factory=io.StringIO)

    @property
    def lines(self) -> list[str]:
        return self.said.getvalue().splitlines()

    def plain(self) -> torch.Tensor:
        return torch.cat(list(self.feed.evaluation()))

    def shown(self, *, batch=5, first=0, last=8) -> torch.Tensor:
        """Training batches in their order."""
        return torch.cat([found.tokens for found in self.feed.training(batch=batch, first=first, last=last)])


def watched(root: Path, n=20, *, images=None, encoder=ENCODER, budget=20.0, **config) -> Watched:
    """A feed as a process of its own would make it."""
    config = {"use": "on", "views": 4} | config
    made = encoder_of(encoder, Seeds(0))
    found = Watched(feeds.feed(n, images=images))
    progress = Progress(Console(file=found.said, soft_wrap=True, width=500))
    banks = Banks(config=BankConfig(**config), root=root, budget=budget, progress=progress)
    runtime = replace(found.feed.runtime, banks=banks, progress=progress)
    found.feed = replace(found.feed, encoder=made, runtime=runtime)
    made.trunk.register_forward_hook(lambda _trunk, _inputs, output: found.passed.append(len(output)))
    return found


def pixels(n: int) -> ArrayImages:
    return ArrayImages(np.random.default_rng(1).integers(0, 256, (n, 8, 8, 3), dtype=np.uint8))


def folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir())


CHILD = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from metagcd.models import bank_files
bank_files.BLOCK_IMAGES = 4
from models import banks

class Slow:
    def __init__(self):
        self.images = banks.pixels(40)
        self.fingerprint = self.images.fingerprint
    def __len__(self):
        return 40
    def read(self, rows):
        time.sleep({pause})
        return self.images.read(rows)

images = Slow()
print("ready", flush=True)
sys.stdin.readline()
found = banks.watched(Path({root!r}), images=images)
if {share!r}:
    banks.share(found, *{share!r})
print(float(found.plain().double().sum()), sum(found.passed), flush=True)
"""


@dataclass(frozen=True)
class Member:
    """A Fabric that stands for one of several processes and does nothing else for them."""

    fabric: Fabric
    world_size: int
    global_rank: int

    def __getattr__(self, name):
        return getattr(self.fabric, name)


def share(found: Watched, count: int, own: int) -> None:
    """Let the feed believe that it is one of several processes that share their batches."""
    runtime = found.feed.runtime
    member = Member(runtime.fabric, count, own)
    found.feed = replace(found.feed, runtime=replace(runtime, fabric=member))


def child(root: Path, *, pause: float, share: tuple[int, int] | None = None) -> subprocess.Popen[str]:
    """A process that fills the bank of 40 images, four at a time, once it is told to."""
    code = CHILD.format(path=[str(Path(__file__).parents[1])], root=str(root), pause=pause, share=share)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code], text=True, **pipes)


def go(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()


def write_byte(file: Path, place: int, value: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(bytes([value]))
