"""Feeds of a few images whose encoder has a trunk with weights, and a look at what their banks do."""

import io
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from engine import feeds
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


def watched(root: Path, n=20, *, images=None, encoder=ENCODER, **config) -> Watched:
    """A feed as a process of its own would make it."""
    config = {"use": "on", "views": 4} | config
    made = encoder_of(encoder, Seeds(0))
    found = Watched(feeds.feed(n, images=images))
    progress = Progress(Console(file=found.said, soft_wrap=True, width=500))
    banks = Banks(config=BankConfig(**config), root=root, progress=progress)
    runtime = replace(found.feed.runtime, banks=banks, progress=progress)
    found.feed = replace(found.feed, encoder=made, runtime=runtime)
    made.trunk.register_forward_hook(lambda _trunk, _inputs, output: found.passed.append(len(output)))
    return found


def pixels(n: int) -> ArrayImages:
    return ArrayImages(np.random.default_rng(1).integers(0, 256, (n, 8, 8, 3), dtype=np.uint8))


def folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir())
