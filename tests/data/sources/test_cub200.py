from pathlib import Path

import numpy as np
import pytest
from official import jpeg, written

from metagcd.data.sources.cub200 import Cub200Config, cub200
from metagcd.errors import InputError

TOP = "CUB_200_2011"
IMAGES = ("001.Black_footed_Albatross/a.jpg", "001.Black_footed_Albatross/b.jpg", "002.Laysan_Albatross/c.jpg")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lists = {
        "images.txt": "".join(f"{number} {path}\n" for number, path in enumerate(IMAGES, start=1)),
        "image_class_labels.txt": "3 2\n1 1\n2 1\n",
        "train_test_split.txt": "1 0\n2 1\n3 1\n",
        "classes.txt": "1 001.Black_footed_Albatross\n2 002.Laysan_Albatross\n",
    }
    pictures = {f"{TOP}/images/{path}": jpeg(seed) for seed, path in enumerate(IMAGES)}
    return written(tmp_path, {f"{TOP}/{name}": text.encode() for name, text in lists.items()} | pictures)


def load(root: Path):
    return cub200(Cub200Config(root=str(root), size=8))


def refusal(root: Path) -> str:
    with pytest.raises(InputError) as error:
        load(root)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_lists_decide_parts_labels_and_names(root: Path) -> None:
    data = load(root)
    assert data.class_names == ("Black footed Albatross", "Laysan Albatross")
    assert data.train_labels.tolist() == [0, 1]
    assert data.test_labels.tolist() == [0]
    pixels = np.concatenate([data.test.read(np.array([0])), data.train.read(np.array([0, 1]))])
    assert len({image[0, 0].tobytes() for image in pixels}) == 3


def test_a_changed_part_or_image_changes_the_fingerprint(root: Path) -> None:
    before = load(root).fingerprint
    written(root, {f"{TOP}/images/{IMAGES[0]}": jpeg(9)})
    changed = load(root).fingerprint
    written(root, {f"{TOP}/train_test_split.txt": b"1 1\n2 0\n3 1\n"})
    assert len({before, changed, load(root).fingerprint}) == 3


def test_a_missing_data_set_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    assert "metagcd data get cub200" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["images.txt", "image_class_labels.txt", "train_test_split.txt", "classes.txt"])
def test_a_missing_list_is_named_with_the_layout(root: Path, name: str) -> None:
    (root / TOP / name).unlink()
    message = refusal(root)
    assert message.startswith(str(root / TOP / name))
    assert "and the folder images" in message


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("image_class_labels.txt", b"1 1\n2 1\n", "image 3 of images.txt is not in it"),
        ("image_class_labels.txt", b"1 1\n2 1\n3 7\n", "image 3 has the unknown value `7`"),
        ("train_test_split.txt", b"1 1\n2 2\n3 0\n", "image 2 has the unknown value `2`"),
    ],
)
def test_lists_that_contradict_each_other_are_refused(root: Path, name: str, content: bytes, what: str) -> None:
    written(root, {f"{TOP}/{name}": content})
    message = refusal(root)
    assert message.startswith(str(root / TOP / name))
    assert what in message


def test_a_listed_image_that_is_missing_is_named(root: Path) -> None:
    (root / TOP / "images" / IMAGES[2]).unlink()
    assert refusal(root).startswith(str(root / TOP / "images" / IMAGES[2]))
