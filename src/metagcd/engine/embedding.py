"""A pass over images that ends in features."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float32
from torch.nn import functional

from metagcd.data.rows import select
from metagcd.engine.distributed import joined
from metagcd.engine.feed import Feed
from metagcd.types import Array


def embed(feed: Feed) -> Float32[Array, "n d"]:
    """Return the unit-norm feature of every image of the feed, in order; processes compute a part each and have all."""
    ranks, images = feed.ranks, len(feed.images)
    if ranks.count == 1:
        return _embedded(feed)
    own = replace(feed, images=select(feed.images, np.arange(images)[ranks.part(images)]))
    return joined(_embedded(own), images=images, ranks=ranks, device=feed.runtime.fabric.device)


def _embedded(feed: Feed) -> Float32[Array, "n d"]:
    encoder, parts = feed.encoder, list[Array]()
    encoder.tail.eval()
    with torch.no_grad(), feed.runtime.progress.bar("embed", len(feed.images)) as bar:
        for tokens in feed.evaluation():
            with feed.runtime.fabric.autocast():
                features = encoder.tail(tokens)
            parts.append(functional.normalize(features.float(), dim=-1).cpu().numpy())
            bar.advance(len(tokens))
    return np.concatenate(parts) if parts else np.zeros((0, encoder.dim), dtype=np.float32)
