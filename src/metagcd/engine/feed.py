"""What a training step is fed: what the frozen trunk makes of the two views of a batch of images."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from metagcd.data.loader import Loading, load_evaluation, load_views
from metagcd.data.views import Augmentation
from metagcd.engine.runtime import Runtime
from metagcd.models import Encoder
from metagcd.seeds import Seeds
from metagcd.types import Array, Images


@dataclass(frozen=True)
class Batch:
    """Trunk outputs of some images; view 1 of all stacked on view 2 of all."""

    rows: Int64[Array, " b"]
    """Positions of the images in the set they are fed from."""
    tokens: Float[Tensor, "two_b ..."]


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Batches of a set of images, as an encoder's tail takes them. It has images, never labels."""

    images: Images
    encoder: Encoder
    augmentation: Augmentation
    seeds: Seeds
    runtime: Runtime

    def steps(self, batch: int) -> int:
        """Return the number of batches in an epoch: whole ones, or one smaller one when there are too few images."""
        return max(len(self.images) // batch, 1)

    def training(self, *, batch: int, first: int, last: int) -> Iterator[Batch]:
        """Yield the batches of steps first..last-1, counted over all epochs."""
        per_epoch = self.steps(batch)
        for epoch in range(first // per_epoch, -(-last // per_epoch)):
            skip = max(first - epoch * per_epoch, 0)
            stop = min(last - epoch * per_epoch, per_epoch)
            with closing(self._epoch(epoch, batch, skip)) as found:
                yield from islice(found, stop - skip)

    def evaluation(self) -> Iterator[Float[Tensor, "b ..."]]:
        """Yield the trunk outputs of the plain views of all images, in order."""
        loading = self._loading(self.runtime.evaluation_batch)
        for _, views in load_evaluation(self.images, spec=self.encoder.spec, loading=loading):
            yield self._trunk(views)

    def _epoch(self, epoch: int, batch: int, skip: int) -> Generator[Batch]:
        for rows, views in load_views(
            self.images,
            spec=self.encoder.spec,
            augmentation=self.augmentation,
            seeds=self.seeds,
            epoch=epoch,
            loading=self._loading(batch, skip),
        ):
            yield Batch(rows, self._trunk(views))

    def _loading(self, batch: int, skip: int = 0) -> Loading:
        return Loading(batch=batch, skip=skip, threads=self.runtime.threads, device=self.runtime.fabric.device)

    def _trunk(self, views: Float[Tensor, "b 3 s s"]) -> Float[Tensor, "b ..."]:
        with torch.no_grad(), self.runtime.fabric.autocast():
            return self.encoder.trunk(views)
