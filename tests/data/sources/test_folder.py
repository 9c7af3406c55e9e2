"""Class folders in every layout, and what is refused."""

import numpy as np
import pytest
from data import corpus

from metagcd.data import load
from metagcd.data.decode import Decoding, decode
from metagcd.data.sources.folder import FolderConfig
from metagcd.errors import InputError


def _classes(folder, names, count=5, offset=0):
    files = {
        f"{name}/{n}.png": corpus.plain(100 * place + n + offset)
        for place, name in enumerate(names)
        for n in range(count)
    }
    return corpus.write(folder, files)


def test_class_folders_become_classes_in_natural_order_with_a_drawn_test_part(tmp_path):
    _classes(tmp_path, ["class 10", "class 2", "b"])
    corpus.write(tmp_path, {"b/deeper/still/x.png": corpus.plain(999), "README.txt": b"hello", ".git/x": b"x"})
    data = load(FolderConfig(path=str(tmp_path), size=8))
    assert data.class_names == ("b", "class 2", "class 10")
    assert np.bincount(np.concatenate((data.train_labels, data.test_labels))).tolist() == [6, 5, 5]
    assert np.bincount(data.test_labels).tolist() == [1, 1, 1]
    assert "20 %" in data.note
    assert data.skipped == ()
    assert np.array_equal(
        np.sort(np.concatenate((data.train.read(np.arange(len(data.train))), data.test.read(np.arange(3)))), axis=0),
        np.sort(np.stack([decode(path, Decoding(size=8)) for path in tmp_path.rglob("*.png")]), axis=0),
    )


@pytest.mark.parametrize("test_name", ["test", "val", "Validation"])
def test_official_parts_are_kept(tmp_path, test_name):
    _classes(tmp_path / "train", ["a", "b"], 4)
    _classes(tmp_path / test_name, ["b"], 2, offset=50)
    data = load(FolderConfig(path=str(tmp_path), size=8))
    assert data.train_labels.tolist() == [0] * 4 + [1] * 4
    assert data.test_labels.tolist() == [1, 1]
    assert data.note == ""
    assert np.array_equal(data.test.read(np.array([1]))[0], decode(tmp_path / test_name / "b/1.png", Decoding(size=8)))


def test_a_flat_test_folder_has_no_classes_and_the_next_one_counts(tmp_path):
    _classes(tmp_path / "train", ["a"], 2)
    _classes(tmp_path / "val", ["a"], 3)
    corpus.write(tmp_path / "test", {"1.png": corpus.plain(1)})
    assert len(load(FolderConfig(path=str(tmp_path))).test) == 3


def test_train_alone_is_drawn_from_and_a_class_may_be_called_train(tmp_path):
    _classes(tmp_path / "alone" / "train", ["a", "b"])
    assert load(FolderConfig(path=str(tmp_path / "alone"))).class_names == ("a", "b")
    _classes(tmp_path / "vehicles", ["bus", "train", "test"])
    assert load(FolderConfig(path=str(tmp_path / "vehicles"))).class_names == ("bus", "test", "train")


def test_a_link_in_a_class_does_not_bring_in_the_other_classes(tmp_path):
    _classes(tmp_path, ["a", "b"])
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    data = load(FolderConfig(path=str(tmp_path), test_fraction=0.0))
    assert np.bincount(data.train_labels).tolist() == [5, 5]
    assert len(data.test) == 0


def test_bad_files_are_skipped_or_refused(tmp_path):
    _classes(tmp_path, ["a", "caf\udce9"])
    corpus.write(tmp_path, {"a/bad.jpg": b"", "a/0.png": b"text"})
    data = load(FolderConfig(path=str(tmp_path)))
    assert [one.reason for one in data.skipped] == ["not an image of a known format", "an empty file"]
    assert np.bincount(np.concatenate((data.train_labels, data.test_labels))).tolist() == [4, 5]
    assert data.class_names == ("a", "caf\\xe9")
    with pytest.raises(InputError, match=r"a/0\.png': not an image"):
        load(FolderConfig(path=str(tmp_path), strict=True))


def test_the_fingerprint_follows_the_content_and_not_the_place(tmp_path):
    prints = [load(FolderConfig(path=str(_classes(tmp_path / place, ["a", "b"])))).fingerprint for place in "xy"]
    assert prints[0] == prints[1]
    corpus.write(tmp_path / "y", {"b/0.png": corpus.plain(5000)})
    assert load(FolderConfig(path=str(tmp_path / "y"))).fingerprint != prints[0]


def test_what_is_no_folder_of_classes_is_refused_in_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_bytes(b"")
    _classes(tmp_path / "hollow", ["a", "b"])
    corpus.write(tmp_path / "hollow", {"c/notes.txt": b"none"})
    _classes(tmp_path / "extra" / "train", ["a"])
    _classes(tmp_path / "extra" / "test", ["a", "z"])
    expected = {
        "": "as `path`",
        "absent": "There is no folder",
        "file": "is a file; expected a folder",
        "empty": "holds no class folders",
        "hollow": r"No readable training image of class 'c'.*notes\.txt",
        "extra": "extra/test/z' has no counterpart",
    }
    for name, words in expected.items():
        with pytest.raises(InputError, match=words) as caught:
            load(FolderConfig(path=str(tmp_path / name) if name else ""))
        assert "\n" not in str(caught.value)
