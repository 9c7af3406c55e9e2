from pathlib import Path

import numpy as np
import pytest
from official import jpeg, written

from metagcd.data.decode import Decoding
from metagcd.data.listings import Layout, unique_names
from metagcd.errors import InputError

SMALL = Decoding(size=8)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(folder=tmp_path, expected="names.txt and the folder images")


def refusal(error: pytest.ExceptionInfo[InputError], path: Path) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    assert message.endswith("names.txt and the folder images.")
    return message


def test_empty_lines_of_a_list_do_not_count(layout: Layout) -> None:
    written(layout.folder, {"names.txt": b"1 black bird\r\n\n  2 owl \n"})
    assert layout.lines("names.txt") == ["1 black bird", "2 owl"]
    assert layout.pairs("names.txt") == [("1", "black bird"), ("2", "owl")]


def test_a_list_that_is_missing_is_named_with_what_is_expected(layout: Layout) -> None:
    with pytest.raises(InputError) as error:
        layout.lines("names.txt")
    assert "No such file" in refusal(error, layout.folder / "names.txt")


def test_a_line_that_lacks_its_second_word_is_refused(layout: Layout) -> None:
    written(layout.folder, {"names.txt": b"1 owl\n2\n"})
    with pytest.raises(InputError, match="entry 2") as error:
        layout.pairs("names.txt")
    refusal(error, layout.folder / "names.txt")


def test_folders_and_pictures_are_sorted_and_other_files_passed_over(layout: Layout) -> None:
    for name in ("b/2.JPEG", "b/10.jpg", "b/1.png", "b/boxes.txt", "b/._1.png", "a/x", ".hidden/x", "file"):
        written(layout.folder, {name: b""})
    assert layout.folders(".") == ["a", "b"]
    assert layout.pictures("b") == ["b/1.png", "b/10.jpg", "b/2.JPEG"]


def test_a_folder_that_is_missing_is_named(layout: Layout) -> None:
    with pytest.raises(InputError, match="no such folder") as error:
        layout.pictures("images")
    refusal(error, layout.folder / "images")


def test_a_folder_without_pictures_is_named(layout: Layout) -> None:
    written(layout.folder, {"images/notes.txt": b""})
    with pytest.raises(InputError, match="no pictures in it") as error:
        layout.pictures("images")
    refusal(error, layout.folder / "images")


def test_images_and_labels_keep_the_order_of_the_list(layout: Layout) -> None:
    written(layout.folder, {f"{seed}.jpg": jpeg(seed) for seed in range(4)})
    data = layout.dataset([("3.jpg", 1), ("0.jpg", 0)], [("1.jpg", 1), ("2.jpg", 0)], ["owl", "wren"], SMALL)
    again = layout.dataset([("0.jpg", 0), ("3.jpg", 1)], [("2.jpg", 0), ("1.jpg", 1)], ["owl", "wren"], SMALL)
    assert data.train_labels.tolist() == [1, 0]
    assert data.test_labels.tolist() == [1, 0]
    assert data.class_names == ("owl", "wren")
    np.testing.assert_array_equal(data.train.read(np.array([0, 1])), again.train.read(np.array([1, 0])))
    np.testing.assert_array_equal(data.test.read(np.array([0, 1])), again.test.read(np.array([1, 0])))


def test_the_fingerprint_follows_content_labels_and_size(layout: Layout) -> None:
    written(layout.folder, {"0.jpg": jpeg(0), "1.jpg": jpeg(1)})

    def digest(train: int = 0, size: int = 8) -> str:
        return layout.dataset([("0.jpg", train)], [("1.jpg", 1)], ["owl", "wren"], Decoding(size=size)).fingerprint

    before = digest()
    assert digest() == before
    assert digest(train=1) != before
    assert digest(size=9) != before
    written(layout.folder, {"1.jpg": jpeg(2)})
    assert digest() != before


def test_a_listed_file_that_is_missing_is_named_and_counted(layout: Layout) -> None:
    written(layout.folder, {"0.jpg": jpeg(0)})
    with pytest.raises(InputError, match="2 of 3 test images") as error:
        layout.dataset([("0.jpg", 0)], [("0.jpg", 0), ("1.jpg", 0), ("2.jpg", 0)], ["owl"], SMALL)
    refusal(error, layout.folder / "1.jpg")


def test_a_part_without_images_is_refused(layout: Layout) -> None:
    with pytest.raises(InputError, match="there are no training images") as error:
        layout.dataset([], [("0.jpg", 0)], ["owl"], SMALL)
    refusal(error, layout.folder)


def test_only_names_that_several_classes_share_get_their_id() -> None:
    assert unique_names(["crane", "owl", "crane"], ["n1", "n2", "n3"]) == ("crane (n1)", "owl", "crane (n3)")
