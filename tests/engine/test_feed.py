from dataclasses import replace

import numpy as np
import pytest
import torch
from engine import feeds
from models import banks

from metagcd.data.loader import batches
from metagcd.data.rows import select
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
    assert [batch.step for batch in part] == list(range(first, last))
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


def test_views_from_a_bank_are_those_of_every_epoch_where_they_are_drawn_anew_in_each(tmp_path):
    stored = banks.watched(tmp_path, views=2, redraw_every=1, dtype="float32")
    fresh = banks.watched(tmp_path, use="off")
    pairs = zip(*(found.feed.training(batch=8, first=1, last=7) for found in (stored, fresh)), strict=True)
    for one, other in pairs:
        assert one.rows.tolist() == other.rows.tolist()
        torch.testing.assert_close(one.tokens, other.tokens, atol=1e-6, rtol=0)
    for one, other in zip(stored.feed.evaluation(), fresh.feed.evaluation(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    assert len(banks.folders(tmp_path)) == 4 + 1


def test_steps_that_are_begun_late_are_those_of_the_whole_course_of_stored_views_too(tmp_path):
    whole = banks.watched(tmp_path).shown(batch=8, last=7)
    assert torch.equal(banks.watched(tmp_path).shown(batch=8, first=3, last=7), whole[3 * 16 :])
    assert [batch.step for batch in banks.watched(tmp_path).feed.training(batch=8, first=3, last=7)] == [3, 4, 5, 6]


def test_epochs_show_other_pairs_of_the_stored_views(tmp_path):
    found = banks.watched(tmp_path, views=4)
    shown = [found.shown(batch=20, first=epoch, last=epoch + 1).double().sum().item() for epoch in range(7)]
    assert len({round(value, 6) for value in shown[:6]}) == 6
    assert shown[6] == pytest.approx(shown[0])
    assert len(banks.folders(tmp_path)) == 1


def test_a_part_made_by_replace_is_fed_from_the_bank_of_the_whole(tmp_path):
    found = banks.watched(tmp_path)
    plain = found.plain()
    part = replace(found.feed, images=select(found.feed.images, [7, 3, 11]), seeds=found.feed.seeds.child("part"))
    assert torch.equal(torch.cat(list(part.evaluation())), plain[[7, 3, 11]])
    assert len(banks.folders(tmp_path)) == 1
    other = replace(found.feed, images=banks.pixels(3))
    assert not torch.equal(torch.cat(list(other.evaluation())), plain[:3])
    assert len(banks.folders(tmp_path)) == 2
