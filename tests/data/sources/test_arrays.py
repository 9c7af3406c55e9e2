"""NumPy archives in every accepted shape, and every wrong one."""

import numpy as np
import pytest

from metagcd.data import load
from metagcd.data.sources.arrays import ArraysConfig
from metagcd.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (12, 5, 6, 3), dtype=np.uint8)
Y = np.arange(12) % 3


def _load(tmp_path, **content):
    np.savez(tmp_path / "a.npz", **content)
    return load(ArraysConfig(path=str(tmp_path / "a.npz")))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (X, X),
        (X.transpose(0, 3, 1, 2), X),
        (X[..., 0], X[..., :1].repeat(3, 3)),
        (X[..., :1], X[..., :1].repeat(3, 3)),
        (X[..., :1].transpose(0, 3, 1, 2), X[..., :1].repeat(3, 3)),
        (X[:, :3, :, 0], X[:, :3, :, :1].repeat(3, 3)),
    ],
)
def test_images_of_each_accepted_shape_are_the_same_pixels(tmp_path, given, expected):
    data = _load(tmp_path, x_train=given, y_train=Y, x_test=given[:3], y_test=Y[:3, None])
    assert np.array_equal(data.train.read(np.arange(12)), expected)
    assert np.array_equal(data.test.read(np.arange(3)), expected[:3])
    assert data.test_labels.tolist() == [0, 1, 2]
    assert data.class_names == ("0", "1", "2")
    assert data.note == ""


def test_without_a_test_part_one_is_drawn(tmp_path):
    for content in ({"x": X, "y": Y}, {"x_train": X, "y_train": Y}):
        data = _load(tmp_path, **content)
        assert np.bincount(data.test_labels).tolist() == [1, 1, 1]
        assert len(data.train) == 9
        assert "fixed draw" in data.note


def test_labels_may_be_text_and_classes_named(tmp_path):
    words = np.array(["b", "a10", "a9"])[Y]
    assert _load(tmp_path, x=X, y=words).class_names == ("a9", "a10", "b")
    named = _load(tmp_path, x=X, y=words, class_names=np.array(["b", "a9", "a10", "c"]))
    assert named.class_names == ("b", "a9", "a10", "c")
    assert sorted({*named.train_labels.tolist()}) == [0, 1, 2]
    assert _load(tmp_path, x=X, y=Y, class_names=np.array(["x", "y", "z"])).class_names == ("x", "y", "z")
    assert _load(tmp_path, x=X, y=10 * Y).class_names == ("0", "10", "20")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"x_train": X}, "has no array `y_train`; it holds: x_train"),
        ({"images": X}, "has no array `x`; it holds: images"),
        ({}, "has no array `x`; it holds: nothing"),
        ({"x": X, "y": Y, "y_test": Y}, "has no array `x_test`"),
        ({"x": X, "y": Y[:11]}, "`x` holds 12 images but `y` 11 labels"),
        ({"x": X / 255, "y": Y}, "`x` must be bytes .*float64 of shape .*Multiply by 255"),
        ({"x": X.astype(np.int64), "y": Y}, r"`x` must be bytes \(uint8\) from 0 to 255; got int64"),
        ({"x": X[0], "y": Y[:5]}, None),
        ({"x": X[0, 0], "y": Y[:6]}, r"`x` must have the shape .*; got \(6, 3\)"),
        ({"x": X[..., :2], "y": Y}, r"got \(12, 5, 6, 2\)"),
        ({"x": X[:, :0], "y": Y}, r"got \(12, 0, 6, 3\)"),
        ({"x": X[:, :3], "y": Y}, "could be the second or the last"),
        ({"x": X[:0], "y": Y[:0]}, "`x` is empty"),
        ({"x": X, "y": Y / 2}, "`y` must be one integer or text per image; got float64"),
        ({"x": X, "y": np.eye(12, dtype=int)}, r"`y` must be .*; got int64 of shape \(12, 12\)"),
        ({"x": X, "y": Y, "x_test": X[:, :4], "y_test": Y}, r"`x_test` holds images of \(4, 6\), `x` of \(5, 6\)"),
        ({"x": X, "y": Y, "x_test": X, "y_test": Y.astype(str)}, "but `y_test` is <U"),
        ({"x": X, "y": Y, "class_names": np.array(["a", "b"])}, "run from 0 to 2, but `class_names` holds 2 names"),
        ({"x": X, "y": Y - 1, "class_names": np.array(["a", "b"])}, "run from -1 to 1"),
        ({"x": X, "y": Y.astype(str), "class_names": np.array(["0", "1"])}, "the label '2' is not in `class_names`"),
        ({"x": X, "y": Y, "class_names": Y}, "`class_names` must be a list of text"),
        ({"x": X, "y": Y.astype(object)}, "it holds Python objects"),
    ],
)
def test_a_wrong_array_is_refused_in_one_line_that_names_it(tmp_path, content, words):
    if words is None:  # (5, 6, 3) is five grey images, whatever was meant.
        assert _load(tmp_path, **content).train.read(np.arange(1)).shape == (1, 6, 3, 3)
        return
    with pytest.raises(InputError, match=words) as caught:
        _load(tmp_path, **content)
    assert "\n" not in str(caught.value)
    assert "a.npz" in str(caught.value)


def test_what_is_no_archive_is_refused_in_one_line(tmp_path):
    (tmp_path / "text.npz").write_bytes(b"hello")
    (tmp_path / "zip.npz").write_bytes(b"PK\x03\x04 but not really")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "one.npy", X)
    (tmp_path / "folder.npz").mkdir()
    for name in ("text.npz", "zip.npz", "empty.npz", "one.npy", "folder.npz", "absent.npz"):
        with pytest.raises(InputError, match=name) as caught:
            load(ArraysConfig(path=str(tmp_path / name)))
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="as `path`"):
        load(ArraysConfig())
