"""Class names in natural order, and the part set aside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.data.parts import Labelled, held_out, ids, natural, shown
from metagcd.data.rows import ArrayImages
from metagcd.errors import InputError


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.floats(0.01, 0.99))
def test_every_class_of_two_or_more_is_in_both_parts(labels, share):
    classes = np.array(labels)
    test = held_out(classes, share)
    for label in set(labels):
        count, size = int(test[classes == label].sum()), labels.count(label)
        assert count == min(size - 1, max(1, round(share * size)))


def test_the_draw_of_a_class_does_not_depend_on_the_other_classes():
    alone = held_out(np.full(20, 3), 0.25)
    among = held_out(np.array([1, 3, 2, 0] * 20), 0.25)
    assert np.array_equal(among[1::4], alone)
    assert not held_out(np.full(20, 3), 0.0).any()


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match=r"`test_fraction` must be in \[0, 1\)"):
        held_out(np.zeros(3, np.int64), share)


def test_class_names_are_in_natural_order():
    names, labels = ids(["b", "class 10", "class 2", "B", "b"])
    assert names == ("B", "b", "class 2", "class 10")
    assert labels.tolist() == [1, 3, 2, 0, 1]
    assert ids(np.array([10, 9, 10]))[0] == ("9", "10")
    assert sorted(["x10y2", "x9", "", "x10y1"], key=natural) == ["", "x9", "x10y1", "x10y2"]


def test_a_name_that_is_no_text_can_be_shown():
    assert shown("caf\udce9") == "caf\\xe9"
    assert shown("日本") == "日本"


def test_the_fingerprint_is_that_of_images_labels_parts_and_names():
    pixels = np.random.default_rng(0).integers(0, 256, (6, 2, 2, 3), dtype=np.uint8)
    base = {"labels": np.array([0, 1] * 3), "class_names": ("a", "b"), "test": None}
    changes = [
        {},
        {"labels": np.array([1, 0] * 3)},
        {"class_names": ("a", "c")},
        {"test": np.arange(6) < 2},
    ]
    prints = [Labelled(images=ArrayImages(pixels), **(base | change)).dataset(0.3).fingerprint for change in changes]
    assert len(set(prints)) == 4
    assert Labelled(images=ArrayImages(pixels), **base).dataset(0.3).fingerprint == prints[0]
