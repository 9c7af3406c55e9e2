"""Tables of paths and labels, as CSV and Parquet."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data import corpus

from metagcd.data import load
from metagcd.data.decode import Decoding, decode
from metagcd.data.sources.manifest import ManifestConfig
from metagcd.errors import InputError

PATHS = [f"images/{n}.png" for n in range(6)]


def _write(folder, kind, columns):
    corpus.write(folder, {path: corpus.plain(n) for n, path in enumerate(PATHS)})
    path = folder / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("labels", [["cat", "ant", "cat", "ant", "cat", "bee"], [10, 2, 10, 2, 10, 3]])
def test_an_official_split_is_kept(tmp_path, kind, labels):
    split = ["train", "train", "test", "test", "train", "train"]
    path = _write(tmp_path, kind, {"path": PATHS, "label": labels, "split": split})
    data = load(ManifestConfig(path=path, size=8))
    assert data.class_names == (("ant", "bee", "cat") if labels[0] == "cat" else ("2", "3", "10"))
    assert data.train_labels.tolist() == [2, 0, 2, 1]
    assert data.test_labels.tolist() == [2, 0]
    assert np.array_equal(data.test.read(np.array([0]))[0], decode(tmp_path / PATHS[2], Decoding(size=8)))
    assert data.note == ""


def test_without_a_test_line_a_part_is_drawn(tmp_path):
    for split in ({}, {"split": ["train"] * 6}):
        path = _write(tmp_path, "csv", {"path": PATHS, "label": ["a"] * 3 + ["b"] * 3, **split})
        data = load(ManifestConfig(path=path))
        assert np.bincount(data.test_labels).tolist() == [1, 1]
        assert "fixed draw" in data.note


def test_labels_stay_with_their_images_when_others_are_skipped(tmp_path):
    path = _write(tmp_path, "csv", {"path": ["gone.png", *PATHS], "label": ["z", "a", "b", "c", "a", "b", "c"]})
    corpus.write(tmp_path, {PATHS[1]: b"bad"})
    data = load(ManifestConfig(path=path, test_fraction=0.0))
    assert data.class_names == ("a", "b", "c")
    assert data.train_labels.tolist() == [0, 2, 0, 1, 2]
    assert [one.reason for one in data.skipped] == ["there is no such file", "not an image of a known format"]
    with pytest.raises(InputError, match="gone"):
        load(ManifestConfig(path=path, strict=True))


def test_paths_start_at_the_root_given(tmp_path):
    path = _write(tmp_path, "csv", {"path": [path.removeprefix("images/") for path in PATHS], "label": ["a"] * 6})
    assert len(load(ManifestConfig(path=path, root=str(tmp_path / "images"), test_fraction=0.0)).train) == 6


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"path": PATHS, "class": ["a"] * 6}, "has no column `label`; the columns are: path, class"),
        (
            {"path": PATHS, "label": ["a"] * 6, "split": ["train"] * 5 + ["dev"]},
            "row 6: `split` must be train or test; got 'dev'",
        ),
        ({"path": PATHS, "label": ["a"] * 5 + [""]}, "row 6: `label` must be text or an integer; got ''"),
        ({"path": ["", *PATHS[1:]], "label": ["a"] * 6}, "row 1: `path` must be a path; got ''"),
        ({"path": ["gone"], "label": ["a"]}, "lists no readable image.*no such file"),
        ({"path": [], "label": []}, "lists no readable image"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(tmp_path, columns, words):
    with pytest.raises(InputError, match=words) as caught:
        load(ManifestConfig(path=_write(tmp_path, "csv", columns)))
    assert "\n" not in str(caught.value)


def test_labels_that_are_no_classes_are_refused(tmp_path):
    for labels in ([0.5] * 6, [None, *"abcde"]):
        with pytest.raises(InputError, match="row 1: `label` must be text or an integer"):
            load(ManifestConfig(path=_write(tmp_path, "parquet", {"path": PATHS, "label": labels})))
    with pytest.raises(InputError, match="as `path`"):
        load(ManifestConfig())
    with pytest.raises(InputError, match="No such file"):
        load(ManifestConfig(path=str(tmp_path / "absent.csv")))
