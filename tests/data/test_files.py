"""Paths in one buffer, and the images behind them."""

import os
import pickle
import shutil

import numpy as np
import pytest
from data import corpus
from hypothesis import given
from hypothesis import strategies as st

from metagcd.data.decode import Decoding, decode
from metagcd.data.files import SAMPLE, FileImages, Paths, content_digest
from metagcd.errors import InputError
from metagcd.types import Images


def _images(folder, count=5) -> FileImages:
    names = [f"{number}.png" for number in range(count)]
    corpus.write(folder, {name: corpus.plain(number) for number, name in enumerate(names)})
    return FileImages(Paths.of(str(folder), names), Decoding(size=8))


@given(st.lists(st.binary(min_size=1, max_size=12)))
def test_paths_of_any_bytes_come_back_as_they_were(names):
    given_paths = [os.fsdecode(name) for name in names]
    paths = Paths.of("root", given_paths)
    assert list(paths) == given_paths
    assert [paths.relative(row) for row in range(len(paths))] == given_paths
    backwards = np.arange(len(paths))[::-1]
    assert list(paths.select(backwards)) == given_paths[::-1]


def test_a_million_paths_take_their_letters_and_eight_megabytes():
    paths = Paths.of("root", (f"class-{number % 100:02}/{number:07}.jpg" for number in range(1_000_000)))
    assert len(paths.letters) + paths.ends.nbytes == 1_000_000 * (8 + len("class-00/0000000.jpg"))
    assert paths.full(123_456) == "root/class-56/0123456.jpg"


def test_files_are_read_in_the_order_asked_for(tmp_path):
    images: Images = _images(tmp_path, 40)
    rows = np.array([31, 2, 2, 39, 0])
    expected = [decode(tmp_path / f"{row}.png", Decoding(size=8)) for row in rows]
    assert np.array_equal(images.read(rows), np.stack(expected))
    assert images.read(np.zeros(0, np.int64)).shape == (0, 8, 8, 3)
    copy = pickle.loads(pickle.dumps(images))  # noqa: S301 - its own bytes
    assert np.array_equal(copy.read(rows[:1])[0], expected[0])


def test_a_file_that_breaks_after_the_scan_is_named(tmp_path):
    images = _images(tmp_path)
    (tmp_path / "3.png").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"3\.png': not an image") as caught:
        images.read(np.arange(5))
    assert "\n" not in str(caught.value)


def test_a_moved_or_copied_folder_keeps_its_fingerprint(tmp_path):
    before = _images(tmp_path / "a").fingerprint
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    paths = Paths.of(str(tmp_path / "b"), [f"{number}.png" for number in range(5)])
    assert FileImages(paths, Decoding(size=8)).fingerprint == before


def test_other_content_order_or_decoding_gives_another_fingerprint(tmp_path):
    images = _images(tmp_path)
    prints = {images.fingerprint}
    prints.add(FileImages(images.paths.select(np.array([1, 0, 2, 3, 4])), images.how).fingerprint)
    prints.add(FileImages(images.paths, Decoding(size=9)).fingerprint)
    prints.add(FileImages(images.paths, Decoding(size=8, fit="pad")).fingerprint)
    (tmp_path / "3.png").write_bytes(corpus.plain(99))
    prints.add(FileImages(images.paths, images.how).fingerprint)
    assert len(prints) == 5


@pytest.mark.parametrize("place", [0, 5 * SAMPLE, 10 * SAMPLE - 1])
def test_a_change_at_head_middle_or_tail_of_a_large_file_is_seen(tmp_path, place):
    content = bytearray(10 * SAMPLE)
    (tmp_path / "large").write_bytes(content)
    before = content_digest(str(tmp_path / "large"))
    content[place] = 1
    (tmp_path / "large").write_bytes(content)
    assert content_digest(str(tmp_path / "large")) != before


def test_a_file_that_is_gone_has_no_digest(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        content_digest(str(tmp_path / "gone"))
