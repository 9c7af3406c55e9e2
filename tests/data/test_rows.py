import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.data.rows import ArrayImages, Rows, fingerprint, origin, select

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 2, 3, 3), dtype=np.uint8)
places = st.lists(st.integers(0, 5), max_size=8)


@given(places)
def test_rows_are_the_images_of_the_parent_in_that_order(rows):
    chosen = select(ArrayImages(PIXELS), rows)
    assert len(chosen) == len(rows)
    np.testing.assert_array_equal(chosen.read(np.arange(len(rows))), PIXELS[np.array(rows, dtype=int)])


@given(places.filter(bool), st.data())
def test_rows_of_rows_lead_back_to_the_first_parent(rows, data):
    again = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    parent = ArrayImages(PIXELS)
    chosen = select(select(parent, rows), again)
    assert chosen.parent is parent
    assert chosen.rows.tolist() == [rows[place] for place in again]
    assert chosen.fingerprint == select(parent, chosen.rows).fingerprint


def test_the_origin_of_images_is_their_first_set_and_their_rows_in_it():
    parent = ArrayImages(PIXELS)
    assert origin(select(parent, [4, 1]))[0] is parent
    assert origin(select(parent, [4, 1]))[1].tolist() == [4, 1]
    assert origin(parent)[0] is parent
    assert origin(parent)[1].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_row_that_is_not_there_is_an_error():
    with pytest.raises(IndexError):
        select(ArrayImages(PIXELS), [6]).read(np.arange(1))


def test_equal_images_in_equal_order_have_equal_fingerprints():
    one, other = ArrayImages(PIXELS), ArrayImages(PIXELS.copy(order="F"))
    assert one.fingerprint == other.fingerprint
    assert select(one, [2, 3]).fingerprint == select(other, np.array([2, 3], dtype=np.int32)).fingerprint


def test_fingerprints_differ_with_any_pixel_the_shape_the_rows_and_their_order():
    changed = PIXELS.copy()
    changed[3, 1, 2, 0] ^= 1
    whole = ArrayImages(PIXELS)
    names = [
        whole,
        ArrayImages(changed),
        ArrayImages(PIXELS.reshape(6, 3, 2, 3)),
        ArrayImages(PIXELS[::-1]),
        select(whole, [0, 1]),
        select(whole, [1, 0]),
        select(whole, []),
        Rows(ArrayImages(changed), np.array([0, 1])),
    ]
    assert len({images.fingerprint for images in names}) == len(names)


def test_a_fingerprint_tells_where_one_part_ends():
    assert fingerprint(b"ab", b"c") != fingerprint(b"a", b"bc") != fingerprint(b"abc")
    assert len(fingerprint(b"")) == 16
