"""The pass that fills a bank, by as many processes as need it; one that was interrupted goes on at the next block.

A process claims a block, computes it, writes it, and lets go of it; the claim of a process that ends is free again. So
every block is filled by somebody, whoever is lost, and by nobody twice.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from metagcd.errors import InputError
from metagcd.models.bank_files import BankFiles, Layout
from metagcd.models.bank_locks import CLAIMS, Claims, claims
from metagcd.models.bank_source import BankSource, Rows
from metagcd.progress import Bar, Progress


def fill(source: BankSource, files: BankFiles, layout: Layout, progress: Progress) -> None:
    """Compute every block that is missing and that no other process computes; return when the bank is complete.

    Processes that share their batches begin with different shares of the blocks, and then help one another.
    """
    if not files.is_complete():
        files.rewrite_journal(layout)
    missing = [block for block in range(layout.blocks) if block not in files.finished(layout)]
    own = missing[source.loading.part(len(missing))]
    order = [*own, *(block for block in missing if block not in set(own))]
    with progress.bar("fill the bank", layout.images) as bar, claims(files.folder / CLAIMS) as claimed:
        work = _Filling(source, files, layout, claimed, bar)
        bar.advance(layout.images - sum(len(layout.rows(block)) for block in missing))
        work.compute(block for block in order if claimed.take(block))
        for block in (block for block in order if block not in files.finished(layout)):
            if not claimed.take(block):
                progress.say(f"Another process fills {files.folder}; waiting for it.")
                claimed.take(block, wait=True)
            work.compute([block])  # if that process was lost
    files.complete(layout)


@dataclass(frozen=True)
class _Filling:
    source: BankSource
    files: BankFiles
    layout: Layout
    claimed: Claims
    bar: Bar
    _waiting: deque[int] = field(default_factory=deque[int])
    """Blocks that are claimed and being read."""

    def compute(self, blocks: Iterable[int]) -> None:
        """Compute blocks that are claimed, unless they are finished meanwhile, and let go of them."""
        found = self.source.outputs(self._rows(blocks), self.source.key.views)
        with closing(found), ThreadPoolExecutor(1) as writer:
            written: Future[None] | None = None
            for outputs in found:
                block = self._waiting.popleft()
                rows = len(self.layout.rows(block))
                stacked = outputs.unflatten(0, (self.layout.views, rows)).transpose(0, 1)
                data = _bytes_of(_finite(stacked))
                if written is not None:
                    written.result()  # one block is written while the next is computed
                written = writer.submit(self._write, block, data)
                self.bar.advance(rows)
            if written is not None:
                written.result()

    def _rows(self, blocks: Iterable[int]) -> Iterator[Rows]:
        for block in blocks:
            if block in self.files.finished(self.layout):
                self.claimed.leave(block)
                continue
            self._waiting.append(block)
            yield np.array(self.layout.rows(block), dtype=np.int64)

    def _write(self, block: int, data: np.ndarray) -> None:
        self.files.write(self.layout, block, data)
        self.claimed.leave(block)


def _bytes_of(outputs: Tensor) -> np.ndarray:
    """Return the bytes of the outputs, one row per image and view."""
    return outputs.flatten(2).contiguous().cpu().view(torch.uint8).numpy()


def _finite(outputs: Tensor) -> Tensor:
    if outputs.dtype == torch.float16 and not bool(outputs.isfinite().all()):
        raise InputError("The trunk's outputs exceed what float16 holds; set `bank.dtype` to bfloat16.")
    return outputs
