import gc
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metagcd.data.loader import Loading, batches, class_balanced_batch, load_evaluation, load_views, prefetch
from metagcd.data.rows import ArrayImages, select
from metagcd.data.views import Augmentation, evaluation_view, two_views
from metagcd.errors import InputError
from metagcd.seeds import Seeds
from metagcd.types import InputSpec

SPEC = InputSpec(size=7)
SEEDS = Seeds(3)
PIXELS = np.random.default_rng(0).integers(0, 256, (23, 8, 8, 3), dtype=np.uint8)
STRONG = Augmentation(shift=1, degrees=10.0, noise=0.1)


@dataclass
class SlowImages:
    """Images that take unequal times to read and count the reads."""

    fingerprint: str = "slow"
    started: list[int] = field(default_factory=list)
    broken: int = -1

    def __len__(self):
        return len(PIXELS)

    def read(self, rows):
        self.started.append(len(rows))
        time.sleep(0.002 * (rows[0] % 5))
        if self.broken in rows:
            raise InputError(f"Cannot read image {self.broken}.")
        return PIXELS[rows]


def epoch_of(images, loading, epoch=0):
    return list(load_views(images, spec=SPEC, augmentation=STRONG, seeds=SEEDS, epoch=epoch, loading=loading))


def reading_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("metagcd-read")]


@given(n=st.integers(0, 50), batch=st.integers(1, 60), drop_last=st.booleans())
def test_batches_hold_every_row_once_but_for_a_dropped_rest(n, batch, drop_last):
    cut = batches(n, batch=batch, seeds=SEEDS, epoch=0, drop_last=drop_last)
    rows = np.concatenate([np.empty(0, dtype=np.int64), *cut])
    assert len(np.unique(rows)) == len(rows)
    assert len(rows) == (n // batch * batch if drop_last and n >= batch else n)
    assert all(len(part) == batch for part in cut[:-1])
    assert all(part.dtype == np.int64 and len(part) > 0 for part in cut)


def test_the_order_depends_on_seed_and_epoch_alone():
    def order(root, epoch):
        return np.concatenate(batches(40, batch=7, seeds=Seeds(root), epoch=epoch, drop_last=False)).tolist()

    assert order(1, 0) == order(1, 0)
    assert len({tuple(order(root, epoch)) for root in (1, 2) for epoch in (0, 1)}) == 4


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6), batch=st.integers(1, 40))
def test_a_balanced_batch_has_equal_shares_and_repeats_only_small_classes(sizes, batch):
    labels = np.repeat(np.arange(len(sizes)) * 3, sizes)
    rows = class_balanced_batch(labels, batch=batch, rng=np.random.default_rng(0))
    counts = np.array([(labels[rows] == 3 * label).sum() for label in range(len(sizes))])
    assert len(rows) == batch
    assert counts.max() - counts.min() <= 1
    for label, size in enumerate(sizes):
        times = np.bincount(rows[labels[rows] == 3 * label], minlength=len(labels))
        assert times.max() <= -(-counts[label] // size)


def test_a_balanced_batch_smaller_than_the_classes_reaches_all_of_them_in_time():
    rng, labels = np.random.default_rng(0), np.arange(10).repeat(4)
    seen = {row for _ in range(100) for row in class_balanced_batch(labels, batch=3, rng=rng).tolist()}
    assert seen == set(range(40))


def test_no_labels_make_no_batch():
    with pytest.raises(ValueError, match="no labels"):
        class_balanced_batch(np.empty(0, dtype=np.int64), batch=3, rng=np.random.default_rng(0))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_views_are_the_same_for_any_number_of_threads(threads):
    seed = SEEDS.integer("views")
    expected = [
        two_views(PIXELS[rows], spec=SPEC, augmentation=STRONG, seed=seed, images=rows, epoch=5)
        for rows in batches(len(PIXELS), batch=4, seeds=SEEDS, epoch=5, drop_last=True)
    ]
    got = epoch_of(SlowImages(), Loading(batch=4, threads=threads), epoch=5)
    torch.testing.assert_close([views for _, views in got], expected, rtol=0, atol=0)


def test_an_image_has_the_same_views_in_a_part_of_the_set():
    whole, part = ArrayImages(PIXELS), np.array([20, 3, 11, 8])
    views = {}
    for rows, stacked in epoch_of(whole, Loading(batch=5, drop_last=False)):
        views.update({int(row): pair for row, pair in zip(rows, stacked.unflatten(0, (2, -1)).unbind(1), strict=True)})
    for rows, stacked in epoch_of(select(whole, part), Loading(batch=3, drop_last=False)):
        for row, pair in zip(rows, stacked.unflatten(0, (2, -1)).unbind(1), strict=True):
            torch.testing.assert_close(pair, views[int(part[row])])


def test_an_interrupted_epoch_goes_on_with_the_same_views():
    images = SlowImages()
    whole = epoch_of(images, Loading(batch=4), epoch=2)
    images.started.clear()
    rest = epoch_of(images, Loading(batch=4, skip=3), epoch=2)
    assert len(images.started) == len(whole) - 3
    torch.testing.assert_close([views for _, views in rest], [views for _, views in whole[3:]], rtol=0, atol=0)


def test_evaluation_reads_every_image_once_in_order():
    got = list(load_evaluation(SlowImages(), spec=SPEC, loading=Loading(batch=4)))
    assert np.concatenate([rows for rows, _ in got]).tolist() == list(range(len(PIXELS)))
    torch.testing.assert_close(torch.cat([views for _, views in got]), evaluation_view(PIXELS, SPEC))


@pytest.mark.parametrize(("threads", "ahead"), [(1, 1), (2, 3), (4, 2)])
def test_no_more_batches_are_read_ahead_than_allowed(threads, ahead):
    images = SlowImages()
    order = batches(len(PIXELS), batch=2, seeds=SEEDS, epoch=0, drop_last=False)
    for used, _ in enumerate(prefetch(images.read, order, threads=threads, ahead=ahead), start=1):
        time.sleep(0.005)
        assert len(images.started) <= used + ahead
    assert len(images.started) == len(order)


def test_reading_goes_on_while_the_consumer_is_busy():
    images = SlowImages()
    stream = prefetch(images.read, batches(20, batch=2, seeds=SEEDS, epoch=0, drop_last=False), ahead=4)
    next(stream)
    deadline = time.monotonic() + 4
    while len(images.started) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(images.started) == 5


def test_an_error_in_a_thread_reaches_the_consumer_and_ends_the_threads():
    with pytest.raises(InputError, match="Cannot read image 9"):
        epoch_of(SlowImages(broken=9), Loading(batch=4, drop_last=False))
    assert reading_threads() == []


@pytest.mark.parametrize("leave", ["close", "forget"])
def test_threads_end_when_the_consumer_leaves(leave):
    stream = load_evaluation(SlowImages(), spec=SPEC, loading=Loading(batch=2, ahead=3))
    next(stream)
    assert len(reading_threads()) > 0
    if leave == "close":
        stream.close()
    else:
        del stream
        gc.collect()
    assert reading_threads() == []


@pytest.mark.parametrize("name", ["batch", "threads", "ahead"])
def test_numbers_that_read_nothing_are_refused(name):
    with pytest.raises(InputError, match=f"`{name}` must be at least 1; got 0"):
        Loading(**{name: 0})
    with pytest.raises(InputError, match="`skip` must not be negative"):
        Loading(skip=-1)
