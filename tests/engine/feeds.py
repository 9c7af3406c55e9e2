"""A feed of a few digits through a small encoder, and a squared loss on what it yields."""

import numpy as np
import torch
from torch import nn

from metagcd.data.rows import ArrayImages, select
from metagcd.data.views import Augmentation
from metagcd.engine.checkpoint import Keeper
from metagcd.engine.feed import Feed
from metagcd.engine.runtime import Runtime
from metagcd.engine.training import Stage, train
from metagcd.models import encoder_of
from metagcd.models.encoders.tiny import TinyConfig
from metagcd.seeds import Seeds

ENCODER = TinyConfig(image_size=8, patch=4, width=8, depth=1, heads=1)


def feed(n=20, *, keeper=None, threads=1, evaluation_batch=8, images=None):
    """A feed of n random images, the same at each call."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    return Feed(
        images=select(ArrayImages(pixels), range(n)) if images is None else images,
        encoder=encoder_of(ENCODER, Seeds(0)),
        augmentation=Augmentation(shift=1),
        seeds=Seeds(5),
        runtime=Runtime(keeper=keeper or Keeper(), threads=threads, evaluation_batch=evaluation_batch),
    )


class KilledError(Exception):
    """The process ended here."""


def trained(stage: Stage, source: Feed, *, killed_at: int | None = None, loss=None, **options):
    """Train the encoder's tail; raise KilledError when this many losses have been asked for."""
    tail, calls = source.encoder.tail, []

    def objective(batch):
        if len(calls) == killed_at:
            raise KilledError
        calls.append(batch.rows.tolist())
        features = tail(batch.tokens)
        return features.square().mean() if loss is None else loss(features, len(calls))

    train(tail, objective, feed=source, stage=stage, **options)
    return calls


def weights(module: nn.Module) -> torch.Tensor:
    """All parameters of a module in one row."""
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])
