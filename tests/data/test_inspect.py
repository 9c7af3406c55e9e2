"""Counts, sizes and duplicates of a source."""

import numpy as np
from data import corpus

from metagcd.data import load
from metagcd.data.inspect import ClassCount, Sizes, inspect_dataset
from metagcd.data.sources.digits import DigitsConfig
from metagcd.data.sources.folder import FolderConfig
from metagcd.data.sources.unlabelled import UnlabelledConfig, unlabelled


def _folder(root):
    files = {f"train/{name}/{n}.png": corpus.plain(n + 10 * (name == "b")) for name in "ab" for n in range(3)}
    wide = corpus.encode(np.zeros((4, 40, 3), np.uint8))
    odd = {"train/b/copy.png": corpus.plain(0), "train/b/bad.png": b"bad", "train/b/twin.png": corpus.plain(12)}
    return corpus.write(root, files | odd | {"test/a/wide.png": wide, "test/b/x.png": corpus.plain(7)})


def test_a_labelled_folder_is_counted_measured_and_compared(tmp_path):
    data = load(FolderConfig(path=str(_folder(tmp_path)), size=8))
    found = inspect_dataset(data)
    assert found.images == 10
    assert found.classes == (ClassCount(name="a", train=3, test=1), ClassCount(name="b", train=5, test=1))
    assert found.sizes == Sizes(width=(8, 8, 40), height=(4, 8, 8), oblong=1)
    assert [one.path for one in found.skipped] == [str(tmp_path / "train/b/bad.png")]
    assert found.duplicates == (
        (str(tmp_path / "train/a/0.png"), str(tmp_path / "train/b/copy.png")),
        (str(tmp_path / "train/b/2.png"), str(tmp_path / "train/b/twin.png")),
    )
    assert found.across == 1
    assert found.fingerprint == data.fingerprint


def test_unlabelled_images_have_no_classes(tmp_path):
    data = unlabelled(UnlabelledConfig(path=str(_folder(tmp_path)), size=8))
    found = inspect_dataset(data)
    assert (found.images, found.classes, len(found.duplicates), len(found.skipped)) == (10, (), 2, 1)
    assert found.fingerprint == data.images.fingerprint


def test_a_source_without_files_has_no_sizes():
    found = inspect_dataset(load(DigitsConfig()))
    assert found.images == 1797
    assert sum(one.train + one.test for one in found.classes) == 1797
    assert (found.sizes, found.duplicates) == (None, ())
    assert "no official test part" in found.note
