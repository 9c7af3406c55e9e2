"""Images without labels, from folders and lists."""

import numpy as np
import pyarrow.parquet
import pytest
from data import corpus
from PIL import Image

from metagcd.data import SOURCES, load
from metagcd.data.decode import Decoding, decode
from metagcd.data.sources.unlabelled import UnlabelledConfig, unlabelled
from metagcd.errors import InputError
from metagcd.types import UnlabelledSet


def _folder(tmp_path):
    return corpus.write(
        tmp_path, {"b/c/1.png": corpus.plain(1), "a.png": corpus.plain(2), "new\nline.png": corpus.plain(3)}
    )


def test_a_folder_in_any_nesting_is_read_in_the_order_of_names(tmp_path):
    data = unlabelled(UnlabelledConfig(path=str(_folder(tmp_path)), size=8))
    assert isinstance(data, UnlabelledSet)
    expected = [decode(tmp_path / name, Decoding(size=8)) for name in ("a.png", "b/c/1.png", "new\nline.png")]
    assert np.array_equal(data.images.read(np.arange(3)), np.stack(expected))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.txt", "b/c/1.png\r\n\na.png\r\ngone.png\n"),
        ("list.csv", "path\nb/c/1.png\na.png\ngone.png\n"),
        ("list.csv", 'n,path\n1,b/c/1.png\n2,"a.png"\n3,gone.png\n'),
    ],
)
def test_a_list_gives_images_in_its_order(tmp_path, name, text):
    _folder(tmp_path / "images")
    (tmp_path / name).write_text(text)
    config = UnlabelledConfig(path=str(tmp_path / name), root=str(tmp_path / "images"), size=8)
    data = unlabelled(config)
    expected = [decode(tmp_path / "images" / one, Decoding(size=8)) for one in ("b/c/1.png", "a.png")]
    assert np.array_equal(data.images.read(np.arange(2)), np.stack(expected))
    assert [one.reason for one in data.skipped] == ["there is no such file"]


def test_paths_of_a_list_start_at_its_folder_and_may_be_absolute(tmp_path):
    _folder(tmp_path)
    (tmp_path / "list.csv").write_text(f'path\n"new\nline.png"\n{tmp_path}/a.png\n')
    assert len(unlabelled(UnlabelledConfig(path=str(tmp_path / "list.csv"), strict=True)).images) == 2


def test_what_holds_no_image_is_refused_in_one_line(tmp_path):
    corpus.write(tmp_path, {"empty/.x": b"", "bad/x.jpg": b"", "no.csv": b"file\nx\n", "file.png": corpus.plain(0)})
    expected = {
        "": "as `path`",
        "absent": "There is no folder",
        "absent.txt": "No such file",
        "empty": "No readable image in",
        "bad": "No readable image in .*first of 1: an empty file",
        "no.csv": "has no column `path`",
        "file.png": "is a file; expected a folder",
    }
    for name, words in expected.items():
        with pytest.raises(InputError, match=words) as caught:
            unlabelled(UnlabelledConfig(path=str(tmp_path / name) if name else ""))
        assert "\n" not in str(caught.value)


def test_it_cannot_be_loaded_as_a_labelled_set(tmp_path):
    assert "unlabelled" in SOURCES.names()
    with pytest.raises(InputError, match="has no labels"):
        load(UnlabelledConfig(path=str(_folder(tmp_path))))


def test_files_of_images_are_read_without_their_labels(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", x=pixels, y=np.array(["never", "read", "at all"], dtype=object))
    found = unlabelled(UnlabelledConfig(path=str(tmp_path / "a.npz")))
    np.testing.assert_array_equal(found.images.read(np.arange(3)), pixels)
    np.savez(tmp_path / "b.npz", y=pixels)
    with pytest.raises(InputError, match="no array `x_train` or `x`"):
        unlabelled(UnlabelledConfig(path=str(tmp_path / "b.npz")))


def test_tables_of_images_and_of_paths_are_read_without_their_labels(tmp_path):
    for name in ("one", "two"):
        Image.new("RGB", (4, 4), "red").save(tmp_path / f"{name}.png")
    encoded = [{"bytes": (tmp_path / f"{name}.png").read_bytes()} for name in ("one", "two")]
    pyarrow.parquet.write_table(pyarrow.table({"image": encoded}), tmp_path / "images.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"path": ["two.png"], "label": [3]}), tmp_path / "paths.parquet")
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "images.parquet").write_bytes((tmp_path / "images.parquet").read_bytes())
    counts = [
        len(unlabelled(UnlabelledConfig(path=str(tmp_path / name))).images)
        for name in ("images.parquet", "paths.parquet", "shards")
    ]
    assert counts == [2, 1, 2]
