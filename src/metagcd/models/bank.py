"""Stored trunk outputs, read back."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Int64, Num, UInt8
from torch import Tensor

from metagcd.data.loader import Loading, prefetch
from metagcd.models.bank_device import ahead_on, pinned_for
from metagcd.models.bank_files import BankFiles, Layout, block_checksum
from metagcd.types import Array

Rows = Int64[Array, " _"]


class DamagedError(Exception):
    """Say which blocks of a bank are not what was written."""

    def __init__(self, blocks: list[int]) -> None:
        super().__init__(f"blocks {blocks}")
        self.blocks = blocks


@dataclass(frozen=True, kw_only=True, eq=False)
class Bank:
    """The rows of one complete bank.

    A block's checksum is compared when a process reads from the block for the first time, so that over a run every
    byte is checked once, beside the reading that takes place anyway; nothing is checked before it is needed.
    """

    files: BankFiles
    layout: Layout
    dtype: torch.dtype
    checked: Bool[Array, " blocks"]
    """Which blocks this process has compared; it outlives the bank's being closed and opened again."""
    mapped: UInt8[Array, "images views bytes"] = field(repr=False)
    checksums: dict[int, str] = field(repr=False)

    def batches(self, order: Iterable[Rows], views: Sequence[int], loading: Loading) -> Generator[Num[Tensor, "n ..."]]:
        """Yield the rows of each batch as they are kept, all of a view, then the next; `views` are positions."""
        device = torch.device(loading.device)

        def read(rows: Rows) -> Tensor:
            return pinned_for(device, self.read(rows, views))

        with closing(prefetch(read, order, threads=loading.threads, ahead=loading.ahead)) as found:
            yield from ahead_on(device, found)

    def resident(self, device: torch.device) -> UInt8[Tensor, "images views bytes"]:
        """Return all rows, checked, in the memory of a device."""
        shape = (self.layout.images, self.layout.views, self.layout.view_bytes)
        held = torch.empty(shape, dtype=torch.uint8, device=device)
        for block in range(self.layout.blocks):
            self.check([block])
            rows = self.layout.rows(block)
            held[rows.start : rows.stop] = torch.from_numpy(self.mapped[rows.start : rows.stop])
        return held

    def gathered(
        self, held: UInt8[Tensor, "images views bytes"], rows: Rows, views: Sequence[int]
    ) -> Num[Tensor, "n ..."]:
        """Return what `read` returns, out of resident rows; nothing passes through the processor but the numbers."""
        place = pinned_for(held.device, torch.from_numpy(rows)).to(held.device, non_blocking=True)
        return self.typed(torch.stack([held[place, view] for view in views])).flatten(0, 1)

    def read(self, rows: Rows, views: Sequence[int]) -> Num[Tensor, "n ..."]:
        """Return views of some images; raise DamagedError where their blocks have changed since they were written."""
        self.check(np.unique(rows // self.layout.block).tolist())
        found = np.empty((len(views), len(rows), self.layout.view_bytes), dtype=np.uint8)
        for place in np.argsort(rows, kind="stable").tolist():  # in the order of the disk
            for number, view in enumerate(views):
                found[number, place] = self.mapped[rows[place], view]
        return self.typed(torch.from_numpy(found)).flatten(0, 1)

    def typed(self, data: UInt8[Tensor, "a b bytes"]) -> Num[Tensor, "a b ..."]:
        """Return bytes as the numbers they are."""
        return data.view(self.dtype).unflatten(2, self.layout.shape)

    def check(self, blocks: Iterable[int] | None = None) -> None:
        """Compare the checksums of blocks that were not compared before; of all when none are named."""
        named = range(self.layout.blocks) if blocks is None else blocks
        damaged: list[int] = []
        for block in named:
            if not self.checked[block]:
                same = block_checksum(self.mapped, self.layout, block) == self.checksums[block]
                self.checked[block] = same
                damaged += [] if same else [block]
        if damaged:
            raise DamagedError(damaged)
