"""Where the content of a bank comes from: images, drawn views of them, and the trunk."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor

from metagcd.data.draws import Draw
from metagcd.data.loader import Loading, prefetch
from metagcd.data.rows import origin
from metagcd.data.views import Pixels, evaluation_view, train_view
from metagcd.models.bank_files import Layout
from metagcd.models.bank_key import PLAIN, BankKey
from metagcd.models.encoder import Encoder
from metagcd.types import Array, Images

Rows = Int64[Array, " _"]


@dataclass(frozen=True, kw_only=True)
class BankSource:
    """What a bank would hold, and how it is computed."""

    images: Images
    encoder: Encoder
    trunk: Callable[[Tensor], Tensor]
    """The encoder's trunk as the run calls it."""
    key: BankKey
    loading: Loading
    """`batch` is how many views pass through the trunk at one time."""

    def layout(self) -> Layout:
        """Return how the outputs would lie, from that of one image."""
        one = next(self.outputs([np.zeros(1, dtype=np.int64)], self.key.views[:1]))
        return Layout.of(len(self.images), len(self.key.views), tuple(one.shape[1:]), self.key.dtype)

    def outputs(self, order: Iterable[Rows], views: Sequence[int]) -> Generator[Float[Tensor, "n ..."]]:
        """Yield the trunk outputs of each batch of images, rounded as they are kept; all of a view, then the next."""
        numbers = origin(self.images)[1].astype(np.int64)
        share = max(self.loading.batch // len(views), 1)
        with closing(prefetch(self._read, order, threads=self.loading.threads, ahead=self.loading.ahead)) as batches:
            for rows, pixels in batches:
                beside = torch.from_numpy(pixels).to(self.loading.device, non_blocking=True)
                parts = zip(beside.split(share), np.split(numbers[rows], range(share, len(rows), share)), strict=True)
                yield torch.cat([self._passed(*part, views) for part in parts], dim=1).flatten(0, 1)

    @property
    def dtype(self) -> torch.dtype:
        """Return the type in which outputs are kept."""
        return {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}[self.key.dtype]

    def _read(self, rows: Rows) -> tuple[Rows, UInt8[Array, "b h w 3"]]:
        return rows, np.require(self.images.read(rows), requirements=["C", "W"])

    def _passed(self, pixels: Pixels, numbers: Rows, views: Sequence[int]) -> Float[Tensor, "views b ..."]:
        """Pass a few images through the trunk, all their views at once."""
        shown = torch.cat([self._view(pixels, numbers, view) for view in views])
        with torch.no_grad():  # the trunk is what is not trained
            return self.trunk(shown).to(self.dtype).unflatten(0, (len(views), len(numbers)))

    def _view(self, pixels: Pixels, numbers: Rows, view: int) -> Float[Tensor, "b 3 s s"]:
        if view in PLAIN or self.key.augmentation is None:
            return evaluation_view(pixels, self.key.spec)
        draw = Draw(seed=self.key.seed, images=numbers, epoch=self.key.redraw, view=view)
        return train_view(pixels, spec=self.key.spec, augmentation=self.key.augmentation, draw=draw)


def places(part: Images, whole: Images) -> Rows | None:
    """Return where the images of a part stand in the whole; None where one does not, or both have other origins."""
    (parent, rows), (other, known) = origin(part), origin(whole)
    if parent is not other:
        return None
    if part is whole or len(known) == 0:
        return np.arange(len(rows)) if part is whole else None
    order = np.argsort(known, kind="stable")
    found = order[np.searchsorted(known, rows, sorter=order).clip(max=len(known) - 1)]
    return found if np.array_equal(known[found], rows) else None
