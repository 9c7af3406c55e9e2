"""Read batches ahead of their use and hand them on as views. No label comes in with the images, and none goes out."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float32, Int, Int64, UInt8
from torch import Tensor

from metagcd.data.rows import origin
from metagcd.data.views import Augmentation, Pixels, evaluation_view, two_views
from metagcd.errors import InputError
from metagcd.seeds import Seeds
from metagcd.types import Array, Images, InputSpec

T = TypeVar("T")
Rows = Int64[Array, "_"]


def _whole(n: int) -> slice:
    return slice(n)


@dataclass(frozen=True, kw_only=True)
class Loading:
    """How batches are read. At most `ahead` batches of bytes wait in memory beside the one in use."""

    batch: int = 128
    """Images per batch, two views of each. The paper has 256 and does not say of which; 128 images make 256 views."""
    drop_last: bool = True
    """Leave out a last, shorter training batch, unless it is the only one; evaluation always reads every image."""
    threads: int = 2
    """Batches being read at one time; sources may decode the pictures of one batch side by side besides."""
    ahead: int = 2
    """Batches that are read before they are asked for."""
    skip: int = 0
    """Training batches left out at the start of the epoch, where an interrupted one goes on."""
    part: Callable[[int], slice] = _whole
    """Which places of a training batch are read here, where several processes share it."""
    device: str | torch.device = "cpu"
    """Where views are made: bytes travel there, a quarter of what views would be."""

    def __post_init__(self) -> None:
        """Refuse numbers that read nothing."""
        for name in ("batch", "threads", "ahead"):
            if getattr(self, name) < 1:
                raise InputError(f"`{name}` must be at least 1; got {getattr(self, name)}.")
        if self.skip < 0:
            raise InputError(f"`skip` must not be negative; got {self.skip}.")


def batches(n: int, *, batch: int, seeds: Seeds, epoch: int, drop_last: bool) -> list[Int64[Array, " _"]]:
    """Return the rows 0 .. n - 1 in the epoch's own order, cut into batches.

    `drop_last` leaves out a last, shorter batch, unless it is the only one.
    """
    order = seeds.numpy("order", epoch).permutation(n)
    end = n - n % batch if drop_last and n >= batch else n
    return [order[start : min(start + batch, end)] for start in range(0, end, batch)]


def class_balanced_batch(labels: Int[Array, " n"], *, batch: int, rng: np.random.Generator) -> Int64[Array, " batch"]:
    """Return rows with as equal numbers of every class as can be; which classes get one more is drawn.

    A row comes twice only when its class has fewer rows than its share.
    """
    classes, member = np.unique(labels, return_inverse=True)
    if len(classes) == 0:
        raise ValueError("A batch cannot be drawn from no labels.")
    share, extra = divmod(batch, len(classes))
    counts = np.full(len(classes), share)
    counts[rng.permutation(len(classes))[:extra]] += 1
    groups = np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])
    # np.resize repeats what is too short.
    drawn = [np.resize(rng.permutation(rows), count) for rows, count in zip(groups, counts, strict=True)]
    return rng.permutation(np.concatenate(drawn))


def prefetch(read: Callable[[Rows], T], order: Iterable[Rows], *, threads: int = 2, ahead: int = 2) -> Generator[T]:
    """Yield `read(rows)` for every batch in order, at most `ahead` of them read before they are asked for.

    An exception of `read` is raised where its result would have come. The threads end with the iterator:
    when it is used up, closed or forgotten.
    """
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="metagcd-read")
    try:
        for rows in order:
            waiting.append(pool.submit(read, rows))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def load_views(
    images: Images, *, spec: InputSpec, augmentation: Augmentation, seeds: Seeds, epoch: int, loading: Loading
) -> Generator[tuple[Rows, Float32[Tensor, "two_b 3 s s"]]]:
    """Yield one epoch: the rows of each batch that are read here, and view 1 of its images stacked on view 2.

    An image's views depend on the seeds, the epoch and its row in the set it was first taken from; on nothing else.
    """
    order = batches(len(images), batch=loading.batch, seeds=seeds, epoch=epoch, drop_last=loading.drop_last)
    order = [rows[loading.part(len(rows))] for rows in order[loading.skip :]]
    numbers, seed = origin(images)[1].astype(np.int64), seeds.integer("views")
    with closing(_read(images, order, loading)) as batches_read:
        for rows, pixels in batches_read:
            yield (
                rows,
                two_views(pixels, spec=spec, augmentation=augmentation, seed=seed, images=numbers[rows], epoch=epoch),
            )


def load_evaluation(
    images: Images, *, spec: InputSpec, loading: Loading
) -> Generator[tuple[Rows, Float32[Tensor, "b 3 s s"]]]:
    """Yield every image once, in order: the rows of each batch and their plain views."""
    n = len(images)
    order = (np.arange(start, min(start + loading.batch, n)) for start in range(0, n, loading.batch))
    with closing(_read(images, order, loading)) as batches_read:
        for rows, pixels in batches_read:
            yield rows, evaluation_view(pixels, spec)


def _read(images: Images, order: Iterable[Rows], loading: Loading) -> Generator[tuple[Rows, Pixels]]:
    device = torch.device(loading.device)

    def read(rows: Rows) -> tuple[Rows, Pixels]:
        pixels = images.read(rows)
        return rows, pixels if device.type == "cpu" else _staged(pixels, device)

    for rows, pixels in prefetch(read, order, threads=loading.threads, ahead=loading.ahead):
        yield rows, pixels if isinstance(pixels, np.ndarray) else pixels.to(device, non_blocking=True)


def _staged(pixels: UInt8[Array, "b h w 3"], device: torch.device) -> UInt8[Tensor, "b h w 3"]:
    """Return bytes from where a graphics processor can fetch them while others compute."""
    staged = torch.from_numpy(np.require(pixels, requirements=["C", "W"]))
    return staged.pin_memory() if device.type == "cuda" else staged
