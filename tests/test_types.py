import numpy as np
import pytest

from metagcd.data.rows import ArrayImages, select
from metagcd.errors import InputError
from metagcd.types import Dataset, Images, LabelledSet, UnlabelledSet


def images(n):
    return ArrayImages(np.zeros((n, 4, 4, 3), dtype=np.uint8))


def dataset(train_labels=(0, 1, 1), test_labels=(0, 1), names=("a", "b")):
    return Dataset(
        train=images(3),
        train_labels=np.array(train_labels, dtype=np.int64),
        test=images(2),
        test_labels=np.array(test_labels, dtype=np.int64),
        class_names=names,
        fingerprint="f",
    )


def test_arrays_and_rows_of_them_are_images_and_an_array_is_not():
    assert isinstance(images(2), Images)
    assert isinstance(select(images(2), [0]), Images)
    assert not isinstance(np.zeros((2, 4, 4, 3)), Images)


def test_an_unlabelled_set_has_no_place_for_labels():
    unlabelled = UnlabelledSet(images=images(2))
    assert not hasattr(unlabelled, "labels")
    with pytest.raises(TypeError):
        UnlabelledSet(images=images(2), labels=np.zeros(2, dtype=np.int64))
    with pytest.raises(AttributeError):
        unlabelled.labels = np.zeros(2)


def test_a_labelled_set_has_a_label_for_every_image():
    assert len(LabelledSet(images=images(2), labels=np.zeros(2, dtype=np.int64)).images) == 2
    with pytest.raises(InputError, match="There are 2 labelled images but 3 labelled labels"):
        LabelledSet(images=images(2), labels=np.zeros(3, dtype=np.int64))


def test_a_dataset_whose_parts_fit_is_taken():
    assert dataset().class_names == ("a", "b")
    assert dataset(names=("a", "b", "never seen")).skipped == ()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"train_labels": (0, 1)}, "There are 3 training images but 2 training labels"),
        ({"test_labels": (0, 1, 1)}, "There are 2 test images but 3 test labels"),
        ({"train_labels": (0, 1, 2)}, r"training labels run from 0 to 2; with 2 class names they must lie in \[0, 1\]"),
        ({"test_labels": (-1, 1)}, r"test labels run from -1 to 1"),
    ],
)
def test_a_dataset_whose_parts_do_not_fit_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        dataset(**values)
