"""The one pass that fills a bank; a pass that was interrupted goes on at its next block."""

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from metagcd.errors import InputError
from metagcd.models.bank_files import BankFiles, Layout
from metagcd.models.bank_source import BankSource
from metagcd.progress import Progress


def fill(source: BankSource, files: BankFiles, layout: Layout, progress: Progress) -> None:
    """Compute every block that is missing, then mark the bank as complete. The caller holds the bank for filling."""
    files.rewrite_journal(layout)
    done = files.finished(layout)
    missing = [block for block in range(layout.blocks) if block not in done]
    order = [np.array(layout.rows(block), dtype=np.int64) for block in missing]
    outputs = zip(missing, order, source.outputs(order, source.key.views), strict=True)
    with progress.bar("fill the bank", layout.images) as bar, ThreadPoolExecutor(1) as writer:
        bar.advance(layout.images - sum(map(len, order)))
        written: Future[None] | None = None
        for block, rows, found in outputs:
            stacked = found.unflatten(0, (layout.views, len(rows))).transpose(0, 1)
            data = _bytes_of(_finite(stacked))
            if written is not None:
                written.result()  # one block is written while the next is computed
            written = writer.submit(files.write, layout, block, data)
            bar.advance(len(rows))
    if written is not None:
        written.result()
    files.complete()


def _bytes_of(outputs: Tensor) -> np.ndarray:
    """Return the bytes of the outputs, one row per image and view."""
    return outputs.flatten(2).contiguous().cpu().view(torch.uint8).numpy()


def _finite(outputs: Tensor) -> Tensor:
    if outputs.dtype == torch.float16 and not bool(outputs.isfinite().all()):
        raise InputError("The trunk's outputs exceed what float16 holds; set `bank.dtype` to bfloat16.")
    return outputs
