from pathlib import Path

import numpy as np
import pytest
from official import jpeg, written
from scipy.io import savemat

from metagcd.data.sources.stanford_cars import StanfordCarsConfig, stanford_cars
from metagcd.errors import InputError

TOP = "stanford_cars"
NAMES = ["AM General Hummer SUV 2000", "Acura RL Sedan 2012"]


def annotations(path: Path, entries: list[tuple[str, int]], *, labelled: bool = True) -> None:
    """Write a MATLAB structure with the fields of the official files."""
    fields = ["bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", *(["class"] if labelled else []), "fname"]
    notes = np.empty((1, len(entries)), dtype=[(name, "O") for name in fields])
    for place, (name, number) in enumerate(entries):
        notes[0, place] = (1, 1, 9, 9, *([number] if labelled else []), name)
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"annotations": notes})


def build(root: Path, test_list: str) -> Path:
    pictures = {"cars_train/00001.jpg": jpeg(1), "cars_train/00002.jpg": jpeg(2), "cars_test/00001.jpg": jpeg(3)}
    written(root, {f"{TOP}/{name}": content for name, content in pictures.items()})
    annotations(root / TOP / "devkit/cars_train_annos.mat", [("00002.jpg", 2), ("00001.jpg", 1)])
    annotations(root / TOP / test_list, [("00001.jpg", 2)])
    names = np.empty((1, len(NAMES)), dtype=object)
    names[0] = NAMES
    savemat(root / TOP / "devkit/cars_meta.mat", {"class_names": names})
    return root


@pytest.fixture(params=["cars_test_annos_withlabels.mat", "devkit/cars_test_annos_withlabels.mat"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return build(tmp_path, request.param)


def load(root: Path):
    return stanford_cars(StanfordCarsConfig(root=str(root), size=8))


def refusal(root: Path) -> str:
    with pytest.raises(InputError) as error:
        load(root)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_lists_decide_parts_labels_and_names_in_both_layouts(root: Path) -> None:
    data = load(root)
    assert data.class_names == tuple(NAMES)
    assert data.train_labels.tolist() == [1, 0]
    assert data.test_labels.tolist() == [1]
    pixels = np.concatenate([data.train.read(np.array([0, 1])), data.test.read(np.array([0]))])
    assert len({image[0, 0].tobytes() for image in pixels}) == 3


def test_one_list_of_all_images_is_read_too(tmp_path: Path) -> None:
    written(tmp_path, {f"{TOP}/car_ims/00000{seed}.jpg": jpeg(seed) for seed in (1, 2, 3)})
    notes = np.empty((1, 3), dtype=[(name, "O") for name in ("relative_im_path", "bbox_x1", "class", "test")])
    for place, (seed, number, test) in enumerate([(2, 2, 0), (1, 1, 1), (3, 1, 0)]):
        notes[0, place] = (f"car_ims/00000{seed}.jpg", 1, number, test)
    names = np.empty((1, len(NAMES)), dtype=object)
    names[0] = NAMES
    savemat(tmp_path / TOP / "cars_annos.mat", {"annotations": notes, "class_names": names})
    data = load(tmp_path)
    assert data.class_names == tuple(NAMES)
    assert data.train_labels.tolist() == [1, 0]
    assert data.test_labels.tolist() == [0]


def test_one_list_that_does_not_say_which_images_are_for_testing_is_refused(tmp_path: Path) -> None:
    (tmp_path / TOP / "car_ims").mkdir(parents=True)
    notes = np.empty((1, 1), dtype=[(name, "O") for name in ("relative_im_path", "class")])
    notes[0, 0] = ("car_ims/000001.jpg", 1)
    savemat(tmp_path / TOP / "cars_annos.mat", {"annotations": notes, "class_names": np.array(NAMES, dtype=object)})
    assert refusal(tmp_path).startswith(f"{tmp_path / TOP / 'cars_annos.mat'}: its annotations lack `test`")


def test_a_changed_image_changes_the_fingerprint(root: Path) -> None:
    before = load(root).fingerprint
    written(root, {f"{TOP}/cars_test/00001.jpg": jpeg(9)})
    assert load(root).fingerprint != before


def test_a_missing_data_set_is_answered_with_what_to_put_where(tmp_path: Path) -> None:
    message = refusal(tmp_path)
    assert str(tmp_path) in message
    assert "withdrew" in message
    assert "devkit/cars_meta.mat" in message


@pytest.mark.parametrize("name", ["devkit/cars_meta.mat", "devkit/cars_train_annos.mat"])
def test_a_missing_list_is_named_with_the_layout(root: Path, name: str) -> None:
    (root / TOP / name).unlink()
    message = refusal(root)
    assert message.startswith(f"{root / TOP / name}: no such file")
    assert "cars_train, cars_test" in message


def test_a_file_that_is_no_matlab_file_is_refused(root: Path) -> None:
    (root / TOP / "devkit/cars_meta.mat").write_bytes(b"<html>not found</html>" * 20)
    assert refusal(root).startswith(f"{root / TOP / 'devkit/cars_meta.mat'}: not a readable MATLAB file")


def test_a_test_list_without_labels_is_refused(root: Path) -> None:
    path = next(path for path in (root / TOP).rglob("cars_test_annos_withlabels.mat"))
    annotations(path, [("00001.jpg", 0)], labelled=False)
    assert refusal(root).startswith(f"{path}: its annotations lack")


def test_a_list_without_its_structure_is_refused(root: Path) -> None:
    savemat(root / TOP / "devkit/cars_train_annos.mat", {"other": np.zeros(3)})
    assert "there is no `annotations` in it" in refusal(root)


@pytest.mark.parametrize("number", [0, 3])
def test_a_class_outside_the_names_is_refused(root: Path, number: int) -> None:
    annotations(root / TOP / "devkit/cars_train_annos.mat", [("00001.jpg", number)])
    assert "there are classes outside 1 to 2" in refusal(root)


def test_a_listed_image_that_is_missing_is_named(root: Path) -> None:
    (root / TOP / "cars_train/00002.jpg").unlink()
    assert refusal(root).startswith(str(root / TOP / "cars_train/00002.jpg"))
