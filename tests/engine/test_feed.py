import numpy as np
import pytest
import torch
from engine import feeds

from metagcd.data.loader import batches
from metagcd.data.views import evaluation_view


@pytest.mark.parametrize(("images", "batch", "steps"), [(20, 8, 2), (16, 8, 2), (5, 8, 1), (8, 8, 1), (0, 8, 1)])
def test_an_epoch_has_whole_batches_or_one_smaller_one(images, batch, steps):
    feed = feeds.feed(images)
    assert feed.steps(batch) == steps
    assert len(list(feed.training(batch=batch, first=0, last=steps))) == (steps if images else 0)


def test_every_epoch_has_its_own_order_and_no_image_twice():
    feed = feeds.feed(20)
    rows = [batch.rows for batch in feed.training(batch=5, first=0, last=8)]
    first, second = np.concatenate(rows[:4]), np.concatenate(rows[4:])
    assert sorted(first) == sorted(second) == list(range(20))
    assert first.tolist() != second.tolist()
    expected = batches(20, batch=5, seeds=feed.seeds, epoch=1, drop_last=True)
    np.testing.assert_array_equal(rows[4:], expected)


@pytest.mark.parametrize(("first", "last"), [(0, 7), (1, 7), (2, 3), (2, 4), (3, 3), (5, 6), (7, 7)])
def test_steps_that_are_begun_late_are_those_of_the_whole_course(first, last):
    whole = list(feeds.feed(20).training(batch=8, first=0, last=7))
    part = list(feeds.feed(20).training(batch=8, first=first, last=last))
    assert [batch.rows.tolist() for batch in part] == [batch.rows.tolist() for batch in whole[first:last]]
    assert all(torch.equal(one.tokens, other.tokens) for one, other in zip(part, whole[first:last], strict=True))


def test_the_two_views_of_an_image_are_stacked_and_differ_from_each_other_and_between_epochs():
    one, other = feeds.feed(8).training(batch=8, first=0, last=2)
    assert one.tokens.shape[0] == 16
    assert not torch.equal(one.tokens[:8], one.tokens[8:])
    image = 3
    at, later = one.rows.tolist().index(image), other.rows.tolist().index(image)
    assert not torch.equal(one.tokens[at], other.tokens[later])


def test_evaluation_goes_through_all_images_in_order_once():
    feed = feeds.feed(20, evaluation_batch=8)
    parts = list(feed.evaluation())
    assert [len(part) for part in parts] == [8, 8, 4]
    pixels = feed.images.read(np.arange(20))
    expected = feed.encoder.trunk(evaluation_view(pixels, feed.encoder.spec))
    torch.testing.assert_close(torch.cat(parts), expected)
    assert not any(part.requires_grad for part in parts)


def test_the_number_of_threads_changes_nothing():
    one, four = (list(feeds.feed(20, threads=n).training(batch=8, first=0, last=4)) for n in (1, 4))
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(one, four, strict=True))
