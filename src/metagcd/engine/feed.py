"""What a training step is fed: what the frozen trunk makes of the two views of a batch of images."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias, cast

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from metagcd.data.loader import Loading, batches, load_evaluation, load_views
from metagcd.data.views import Augmentation
from metagcd.engine.distributed import Ranks, ranks_of
from metagcd.engine.runtime import Runtime
from metagcd.models import Encoder
from metagcd.models.bank_device import pinned_for
from metagcd.models.bank_key import PLAIN, BankKey
from metagcd.models.bank_source import BankSource, places
from metagcd.seeds import Seeds
from metagcd.types import Array, Images

Rows: TypeAlias = Int64[Array, " _"]


@dataclass(frozen=True)
class Batch:
    """Trunk outputs of some images; view 1 of all stacked on view 2 of all."""

    rows: Int64[Array, " b"]
    """Positions of the images in the set they are fed from."""
    tokens: Float[Tensor, "two_b ..."]
    """Of all images of the batch, or of this process's part where several share it."""
    step: int = 0
    """Which update of its stage it is for, counted over all epochs; what is drawn for it can depend on this alone."""
    place: Int64[Tensor, " b"] | None = None
    """The rows beside the tokens, where these stay at one place from batch to batch."""

    @property
    def indices(self) -> Int64[Tensor, " b"]:
        """Return the rows beside the tokens; what is captured must take them from here."""
        if self.place is not None:
            return self.place
        return pinned_for(self.tokens.device, torch.from_numpy(self.rows)).to(self.tokens.device, non_blocking=True)


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A set whose outputs are kept together, and the seeds that its views are drawn from."""

    images: Images
    seeds: Seeds


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Batches of a set of images, as an encoder's tail takes them. It has images, never labels."""

    images: Images
    encoder: Encoder
    augmentation: Augmentation
    seeds: Seeds
    runtime: Runtime
    whole: Whole | None = None
    """What the images were taken from when `dataclasses.replace` made this feed of another: parts share its bank."""

    def __post_init__(self) -> None:
        """Be a whole of one's own, unless a part of another."""
        if self.whole is None or places(self.images, self.whole.images) is None:
            object.__setattr__(self, "whole", Whole(images=self.images, seeds=self.seeds))

    def steps(self, batch: int) -> int:
        """Return the number of batches in an epoch: whole ones, or one smaller one when there are too few images."""
        return max(len(self.images) // batch, 1)

    def training(self, *, batch: int, first: int, last: int) -> Iterator[Batch]:
        """Yield the batches of steps first..last-1, counted over all epochs."""
        per_epoch, banks = self.steps(batch), self.runtime.banks
        self.ranks.require_share(min(batch, len(self.images)))
        for epoch in range(first // per_epoch, -(-last // per_epoch)):
            skip = max(first - epoch * per_epoch, 0)
            stop = min(last - epoch * per_epoch, per_epoch)
            if banks.serve(self.encoder):
                coming = min(last, banks.config.redrawn_after(epoch, last) * per_epoch) - epoch * per_epoch - skip
                epoch_batches = self._kept(epoch, batch, skip, coming)
            else:
                epoch_batches = self._epoch(epoch, batch, skip)
            with closing(epoch_batches) as found:
                for step, one in enumerate(islice(found, stop - skip), epoch * per_epoch + skip):
                    yield replace(one, step=step)

    @property
    def ranks(self) -> Ranks:
        """Return which of the processes that share the batches this is."""
        return ranks_of(self.runtime.fabric)

    def evaluation(self) -> Iterator[Float[Tensor, "b ..."]]:
        """Yield the trunk outputs of the plain views of all images, in order."""
        size = self.runtime.evaluation_batch
        if self.runtime.banks.serve(self.encoder):
            order = [np.arange(i, min(i + size, len(self.images))) for i in range(0, len(self.images), size)]
            yield from self._outputs(order, PLAIN, redraw=0, planned=len(self.images))
            return
        for _, views in load_evaluation(self.images, spec=self.encoder.spec, loading=self._loading(size)):
            yield self._trunk(views)

    def _epoch(self, epoch: int, batch: int, skip: int) -> Generator[Batch]:
        """Yield batches of views that no other epoch shows."""
        order = batches(len(self.images), batch=batch, seeds=self.seeds, epoch=epoch, drop_last=True)[skip:]
        found = load_views(
            self.images,
            spec=self.encoder.spec,
            augmentation=self.augmentation,
            seeds=self.seeds,
            epoch=epoch,
            loading=self._loading(batch, skip),
        )
        with closing(found):
            for rows, (_, views) in zip(order, found, strict=True):
                yield Batch(rows, self._trunk(views))

    def _kept(self, epoch: int, batch: int, skip: int, coming: int) -> Generator[Batch]:
        """Yield batches of views that were drawn once; `coming` batches in all show views of this draw."""
        config = self.runtime.banks.config
        order = batches(len(self.images), batch=batch, seeds=self.seeds, epoch=epoch, drop_last=True)[skip:]
        pair = config.pair(self.seeds.integer("pairs"), epoch)
        planned = 2 * coming * min(batch, len(self.images))
        own = [rows[self.ranks.part(len(rows))] for rows in order]
        with closing(self._outputs(own, pair, redraw=config.redraw(epoch), planned=planned)) as found:
            for rows, tokens in zip(order, found, strict=True):
                yield Batch(rows, tokens)

    def _outputs(
        self, order: Sequence[Rows], views: tuple[int, ...], *, redraw: int, planned: int
    ) -> Generator[Float[Tensor, "n ..."]]:
        """Yield the outputs for views of these images, from the bank of the whole."""
        banks, whole = self.runtime.banks, cast(Whole, self.whole)
        place = cast(Rows, places(self.images, whole.images))
        random = views != PLAIN
        key = BankKey(
            images=whole.images.fingerprint,
            trunk=banks.digest(self.encoder),
            precision=self._precision(),
            spec=self.encoder.spec,
            views=tuple(range(1, banks.config.views + 1)) if random else PLAIN,
            augmentation=self.augmentation if random else None,
            seed=whole.seeds.integer("views") if random else 0,
            redraw=redraw,
            dtype=banks.config.dtype,
        )
        source = BankSource(
            images=whole.images,
            encoder=self.encoder,
            trunk=self._trunk,
            key=key,
            loading=self._loading(self.runtime.evaluation_batch),
        )
        return banks.outputs(source, [place[rows] for rows in order], views, planned=planned)

    def _loading(self, batch: int, skip: int = 0) -> Loading:
        runtime = self.runtime
        return Loading(
            batch=batch, skip=skip, part=self.ranks.part, threads=runtime.threads, device=runtime.fabric.device
        )

    def _trunk(self, views: Float[Tensor, "b 3 s s"]) -> Float[Tensor, "b ..."]:
        with torch.no_grad(), self.runtime.fabric.autocast():
            return self.encoder.trunk(views)

    def _precision(self) -> str:
        kind = self.runtime.fabric.device.type
        with self.runtime.fabric.autocast():
            return str(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else "float32"
