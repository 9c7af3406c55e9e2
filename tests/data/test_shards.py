"""Row groups are indexed, read on demand, and named in messages."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data import corpus

from metagcd.data.decode import Decoding, decode
from metagcd.data.scan import Check
from metagcd.data.shards import ShardImages
from metagcd.errors import InputError
from metagcd.types import Images


def _shards(folder, counts=(5, 3)) -> ShardImages:
    files, first = [], 0
    for place, count in enumerate(counts):
        contents = [corpus.plain(number) for number in range(first, first + count)]
        files.append(str(folder / f"{place}.parquet"))
        pq.write_table(pa.table({"image": pa.array(contents, pa.binary())}), files[-1], row_group_size=2)
        first += count
    return ShardImages.of(files, "image", Decoding(size=8))


def test_rows_in_any_order_come_from_their_row_groups(tmp_path):
    images: Images = _shards(tmp_path)
    rows = np.array([7, 0, 4, 5, 0, 3])
    expected = np.stack([decode(corpus.plain(row), Decoding(size=8)) for row in rows])
    assert np.array_equal(images.read(rows), expected)
    assert len(images) == 8
    assert images.read(np.zeros(0, np.int64)).shape == (0, 8, 8, 3)
    copy = pickle.loads(pickle.dumps(images))  # noqa: S301 - its own bytes
    assert np.array_equal(copy.read(rows), expected)


def test_no_picture_is_kept_in_the_index(tmp_path):
    images = _shards(tmp_path, (100,))
    images.read(np.arange(100))
    assert len(pickle.dumps(images)) < 5_000


def test_a_place_is_a_file_and_the_row_in_it(tmp_path):
    images = _shards(tmp_path)
    assert [images.place(row).removeprefix(f"{tmp_path}/") for row in (0, 4, 5, 7)] == [
        "0.parquet, row 0",
        "0.parquet, row 4",
        "1.parquet, row 0",
        "1.parquet, row 2",
    ]


def test_nothing_is_read_for_a_check_of_nothing(tmp_path):
    images = _shards(tmp_path)
    (tmp_path / "0.parquet").unlink()
    assert images.verify(Check(check="none"))[0].all()
    with pytest.raises(InputError, match=r"0\.parquet' as Parquet"):
        images.verify(Check(check="full"))


def test_decoding_and_order_of_files_are_part_of_the_fingerprint(tmp_path):
    images = _shards(tmp_path)
    others = [
        ShardImages.of(images.files, "image", Decoding(size=9)),
        ShardImages.of(images.files[::-1], "image", Decoding(size=8)),
        ShardImages.of(images.files, "image", Decoding(size=8)),
    ]
    assert [other.fingerprint == images.fingerprint for other in others] == [False, False, True]


def test_a_file_of_the_same_name_elsewhere_or_written_anew_is_read_anew(tmp_path, monkeypatch):
    seen = []
    for place, number in (("one", 0), ("two", 5), ("two", 9)):
        (tmp_path / place).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / place)
        pq.write_table(pa.table({"image": pa.array([corpus.plain(number)], pa.binary())}), "photos.parquet")
        images = ShardImages.of(["photos.parquet"], "image", Decoding(size=8))
        seen.append(images.read(np.array([0]))[0])
        np.testing.assert_array_equal(seen[-1], decode(corpus.plain(number), Decoding(size=8)))
    assert not np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])
