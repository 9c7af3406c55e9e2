"""Encoded images in Parquet files, in the layouts of hubs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data import corpus

from metagcd.data import load
from metagcd.data.decode import Decoding, decode
from metagcd.data.sources.parquet import ParquetConfig
from metagcd.errors import InputError

STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def _shard(path, numbers, labels, *, struct=True, names=(), **columns):
    contents = [number if isinstance(number, bytes) or number is None else corpus.plain(number) for number in numbers]
    images = (
        pa.array([{"bytes": one, "path": "x"} for one in contents], STRUCT)
        if struct
        else pa.array(contents, pa.binary())
    )
    table = pa.table({"image": images, "label": labels, **columns})
    if names:
        features = {"image": {"_type": "Image"}, "label": {"names": list(names), "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=3)
    return str(path)


def _expected(numbers):
    return np.stack([decode(corpus.plain(number), Decoding(size=8)) for number in numbers])


def test_shards_of_a_hub_are_read_in_their_order_and_parts(tmp_path):
    names = ("cat", "dog", "eel")
    _shard(tmp_path / "data/train-00000-of-00002.parquet", range(7), [0, 1, 0, 1, 0, 1, 0], names=names)
    _shard(tmp_path / "data/train-00001-of-00002.parquet", range(7, 10), [1, 1, 0], names=names)
    _shard(tmp_path / "data/test-00000-of-00001.parquet", range(20, 22), [1, 0], names=names)
    data = load(ParquetConfig(path=str(tmp_path), size=8))
    assert data.class_names == names
    assert data.train_labels.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 1, 0]
    assert data.test_labels.tolist() == [1, 0]
    rows = np.array([9, 0, 6, 6, 7, 3])
    assert np.array_equal(data.train.read(rows), _expected(rows))
    assert np.array_equal(data.test.read(np.arange(2)), _expected([20, 21]))


@pytest.mark.parametrize("part", ["validation", "val", "valid", "default/validation/0000"])
def test_a_validation_part_is_used_where_no_test_labels_are_known(tmp_path, part):
    _shard(tmp_path / "default/train/0000.parquet", range(4), [0, 1, 0, 1])
    _shard(tmp_path / "test-0.parquet", range(4, 6), [-1, -1])
    _shard(tmp_path / f"{part}.parquet", range(6, 8), [1, 0])
    data = load(ParquetConfig(path=str(tmp_path), size=8))
    assert data.class_names == ("0", "1")
    assert np.array_equal(data.test.read(np.arange(2)), _expected([6, 7]))


def test_one_file_of_plain_bytes_and_text_labels_has_a_drawn_test_part(tmp_path):
    path = _shard(tmp_path / "some.parquet", range(8), ["b", "a"] * 4, struct=False)
    data = load(ParquetConfig(path=path, size=8, test_fraction=0.25))
    assert data.class_names == ("a", "b")
    assert np.bincount(data.test_labels).tolist() == [1, 1]
    assert "25 %" in data.note


def test_a_broken_image_is_named_when_read_or_skipped_when_checked(tmp_path):
    path = _shard(tmp_path / "x.parquet", [0, 1, 2, None, b"bad", 5], [0] * 6)
    data = load(ParquetConfig(path=path, size=8, test_fraction=0.0))
    with pytest.raises(InputError, match=r"x\.parquet, row 4: not an image"):
        data.train.read(np.array([4]))
    with pytest.raises(InputError, match="row 3: there are no bytes"):
        data.train.read(np.array([3, 5]))
    for check in ("header", "full"):
        data = load(ParquetConfig(path=path, size=8, test_fraction=0.0, check=check))
        assert [one.path[-5:] for one in data.skipped] == ["row 3", "row 4"]
        assert np.array_equal(data.train.read(np.arange(4)), _expected([0, 1, 2, 5]))
    with pytest.raises(InputError, match="row 3: there are no bytes"):
        load(ParquetConfig(path=path, check="header", strict=True))


def test_columns_can_be_named(tmp_path):
    other = pa.array([corpus.plain(50 + n) for n in range(4)], pa.binary())
    path = _shard(tmp_path / "x.parquet", range(4), [0] * 4, thumbnail=other, kind=["a", "b"] * 2)
    with pytest.raises(InputError, match="Several of the columns is a sure image column"):
        load(ParquetConfig(path=path))
    data = load(ParquetConfig(path=path, size=8, image_column="thumbnail", label_column="kind", test_fraction=0.0))
    assert data.class_names == ("a", "b")
    assert np.array_equal(data.train.read(np.arange(4)), _expected(range(50, 54)))
    data = load(ParquetConfig(path=path, size=8, image_column="image", test_fraction=0.0))
    assert np.array_equal(data.train.read(np.arange(4)), _expected(range(4)))


def test_the_fingerprint_follows_the_content(tmp_path):
    prints = [
        load(ParquetConfig(path=_shard(tmp_path / f"{n}.parquet", numbers, [0] * 40))).fingerprint
        for n, numbers in enumerate([range(40), range(40), [*range(20), 99, *range(21, 40)]])
    ]
    assert prints[0] == prints[1] != prints[2]


def test_a_wrong_table_is_refused_in_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.parquet").write_bytes(b"hello, this is no parquet")
    _shard(tmp_path / "float.parquet", range(2), [0.5, 1.5])
    _shard(tmp_path / "null.parquet", range(2), [None, 1])
    _shard(tmp_path / "beyond.parquet", range(2), [0, 2], names=("a", "b"))
    _shard(tmp_path / "only" / "test-0.parquet", range(2), [0, 1])
    pq.write_table(pa.table({"x": [1], "label": [1]}), tmp_path / "no-image.parquet")
    pq.write_table(pa.table({"image": pa.array([b"x"], pa.binary())}), tmp_path / "no-label.parquet")
    expected = {
        "absent": "There is no file or folder",
        "empty": r"holds no \.parquet file",
        "text.parquet": r"text\.parquet' as Parquet",
        "float.parquet": "must hold integers or text; it holds double",
        "null.parquet": "1 labels in `label` are empty",
        "beyond.parquet": "run from 0 to 2, but the file names 2 classes",
        "only": "none whose name starts with `train`",
        "no-image.parquet": "None of the columns is a sure image column; name it as `image_column`: x, label",
        "no-label.parquet": "None of the columns is a sure label column",
    }
    for name, words in expected.items():
        with pytest.raises(InputError, match=words) as caught:
            load(ParquetConfig(path=str(tmp_path / name)))
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="Did you mean `label`"):
        load(ParquetConfig(path=str(tmp_path / "beyond.parquet"), label_column="labl"))
    with pytest.raises(InputError, match="as `path`"):
        load(ParquetConfig())
