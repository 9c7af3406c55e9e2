from dataclasses import replace

import numpy as np
import pytest
import torch
from engine import feeds
from models import banks
from models.test_bank_key import KEY

from metagcd.data.loader import Loading
from metagcd.data.rows import select
from metagcd.data.views import Augmentation, evaluation_view, two_views
from metagcd.models import encoder_of
from metagcd.models.bank_files import Layout
from metagcd.models.bank_source import BankSource, places
from metagcd.seeds import Seeds

SHIFTED = Augmentation(shift=1)


def source(images, **key):
    encoder = encoder_of(banks.ENCODER, Seeds(0))
    fields = {"augmentation": SHIFTED, "spec": encoder.spec, "views": (1, 2, 3), "dtype": "float32", "seed": 9} | key
    made = replace(KEY, **fields)
    return BankSource(images=images, encoder=encoder, trunk=encoder.trunk, key=made, loading=Loading(batch=4))


def test_views_are_those_that_training_without_a_bank_would_draw():
    images = select(banks.pixels(10), [5, 2, 7, 1])
    rows = np.array([3, 0])
    made = source(images, redraw=6)
    (found,) = made.outputs([rows], (1, 2))
    spec = made.key.spec
    views = two_views(images.read(rows), spec=spec, augmentation=SHIFTED, seed=9, images=np.array([1, 5]), epoch=6)
    torch.testing.assert_close(found, made.encoder.trunk(views), atol=1e-6, rtol=0)
    (third,) = made.outputs([rows], (3,))
    assert not torch.equal(third, found[:2])


def test_view_0_is_the_plain_one():
    images = banks.pixels(5)
    made = source(images, views=(0,), augmentation=None)
    (found,) = made.outputs([np.arange(5)], (0,))
    expected = made.encoder.trunk(evaluation_view(images.read(np.arange(5)), made.key.spec))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_outputs_are_rounded_as_they_are_kept(dtype):
    made = source(banks.pixels(5), dtype=dtype)
    (found,) = made.outputs([np.arange(5)], (1,))
    assert found.dtype == made.dtype == getattr(torch, dtype)
    assert made.layout() == Layout.of(5, 3, (5, 8), dtype)


def test_a_part_knows_where_it_stands_in_the_whole():
    images = banks.pixels(10)
    whole = select(images, [5, 2, 7, 1])
    assert places(select(whole, [3, 0]), whole).tolist() == [3, 0]
    assert places(select(images, [7, 7, 5]), whole).tolist() == [2, 2, 0]
    assert places(whole, whole).tolist() == [0, 1, 2, 3]
    assert places(select(whole, []), whole).tolist() == []
    assert places(images, images).tolist() == list(range(10))


def test_what_is_not_part_of_the_whole_has_no_place():
    images = banks.pixels(10)
    whole = select(images, [5, 2])
    for other in (
        select(images, [5, 3]),
        select(images, [9]),
        images,
        select(banks.pixels(10), [5]),
        feeds.feed().images,
    ):
        assert places(other, whole) is None
    assert places(images, select(images, [])) is None
