import numpy as np
import pytest
from sklearn.datasets import load_digits

from metagcd.data import SOURCES, load
from metagcd.data.sources.digits import DigitsConfig, digits
from metagcd.errors import InputError


def test_the_images_are_those_of_scikit_learn_each_once():
    data, flat = digits(DigitsConfig()), load_digits().data
    parts = [images.read(np.arange(len(images))) for images in (data.train, data.test)]
    pixels = np.concatenate(parts)
    assert pixels.shape == (1797, 8, 8, 3)
    assert (pixels == pixels[..., :1]).all()
    found = np.round(pixels[..., 0].reshape(1797, 64) * (16 / 255))
    np.testing.assert_array_equal(np.sort(found.view("V512").ravel()), np.sort(flat.copy().view("V512").ravel()))


def test_labels_go_with_their_images():
    data, bunch = digits(DigitsConfig()), load_digits()
    known = {row.tobytes(): label for row, label in zip(bunch.data, bunch.target, strict=True)}
    for images, labels in ((data.train, data.train_labels), (data.test, data.test_labels)):
        flat = np.round(images.read(np.arange(len(images)))[..., 0].reshape(-1, 64) * (16 / 255))
        assert [known[row.tobytes()] for row in flat] == labels.tolist()


@pytest.mark.parametrize("share", [0.25, 0.1, 0.5])
def test_the_share_of_every_class_is_set_aside(share):
    data = digits(DigitsConfig(test_fraction=share))
    whole = np.bincount(load_digits().target)
    assert np.bincount(data.test_labels).tolist() == [round(share * count) for count in whole]
    assert (np.bincount(data.train_labels) + np.bincount(data.test_labels) == whole).all()


def test_every_load_gives_the_same_and_the_fingerprint_tells_another_draw():
    one, again, other = digits(DigitsConfig()), load(DigitsConfig()), digits(DigitsConfig(test_fraction=0.3))
    assert one.fingerprint == again.fingerprint != other.fingerprint
    np.testing.assert_array_equal(one.train_labels, again.train_labels)


def test_the_reader_is_told_that_the_test_part_is_ours():
    assert "no official test part" in digits(DigitsConfig()).note
    assert "digits" in SOURCES.names()


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_a_share_that_leaves_a_part_empty_is_refused(share):
    with pytest.raises(InputError, match="`test_fraction`"):
        DigitsConfig(test_fraction=share)
