from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from metagcd.data.contents import Places, contents, first_of_each, together
from metagcd.data.rows import ArrayImages, select
from metagcd.data.sources.unlabelled import UnlabelledConfig, unlabelled
from metagcd.errors import InputError


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "photos" / "b").mkdir(parents=True)
    for name in ("z.png", "b/a.png", "b/c.png"):
        Image.fromarray(rng.integers(0, 256, (6, 5, 3), dtype=np.uint8)).save(tmp_path / "photos" / name)
    (tmp_path / "photos" / "copy.png").write_bytes((tmp_path / "photos" / "z.png").read_bytes())
    return tmp_path / "photos"


def images(path):
    return unlabelled(UnlabelledConfig(path=str(path))).images


def test_equal_files_have_equal_names_wherever_they_lie(folder):
    found = images(folder)
    names = dict(zip([Path(path).name for path in Places(found)], contents(found).tolist(), strict=True))
    assert names["z.png"] == names["copy.png"]
    assert len({tuple(name) for name in names.values()}) == 3


def test_a_name_is_of_the_bytes_whether_in_a_file_or_in_a_table(folder, tmp_path):
    found = images(folder)
    encoded = [{"bytes": Path(path).read_bytes()} for path in Places(found)]
    pa.parquet.write_table(pa.table({"image": encoded}), tmp_path / "photos.parquet")
    np.testing.assert_array_equal(contents(images(tmp_path / "photos.parquet")), contents(found))


def test_a_set_is_named_by_its_contents_whatever_their_order_and_number(folder):
    names = contents(images(folder))
    assert together(names[::-1]) == together(names[[0, 0, 1, 2, 3]]) == together(names)
    assert together(names[:1]) != together(names)
    assert together(names[:0]) != together(names)


def test_the_first_of_each_content_is_told():
    names = np.zeros((5, 16), dtype=np.uint8)
    names[[1, 4], 15] = 1
    names[3, 0] = 255
    assert first_of_each(names).tolist() == [0, 1, 0, 3, 1]
    assert first_of_each(names[:0]).tolist() == []


def test_arrays_are_named_by_their_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 2, 3), dtype=np.uint8)
    pixels[3] = pixels[0]
    found = contents(select(ArrayImages(pixels), [3, 1, 0]))
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != found[1]).any()
    assert Places(select(ArrayImages(pixels), [3, 1]))[1] == "image 1"


def test_a_file_that_is_gone_is_told(folder):
    found = images(folder)
    (folder / "z.png").unlink()
    with pytest.raises(InputError, match=r"z\.png"):
        contents(found)


def test_places_are_absolute_paths_one_by_one(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    places = Places(images("photos"))
    assert len(places) == 4
    assert next(iter(places)) == str(folder / "b" / "a.png")
    with pytest.raises(IndexError):
        _ = places[4]
