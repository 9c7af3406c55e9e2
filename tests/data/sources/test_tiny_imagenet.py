from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from official import jpeg, md5, written, zipped

from metagcd.data.archives import place
from metagcd.data.sources.tiny_imagenet import TinyImagenetConfig, tiny_imagenet
from metagcd.errors import InputError
from metagcd.types import Dataset

TOP = "tiny-imagenet-200"
WNIDS = ("n01443537", "n02012849", "n03126707")
WORDS = b"n00001740\tentity\nn01443537\tgoldfish, Carassius auratus\nn02012849\tcrane\nn03126707\tcrane\n"
TRUTH = {"val_0.JPEG": 2, "val_1.JPEG": 0, "val_2.JPEG": 1, "val_10.JPEG": 0}


def training() -> dict[str, bytes]:
    files = {f"{TOP}/words.txt": WORDS}
    for label, wnid in reversed(list(enumerate(WNIDS))):
        files[f"{TOP}/train/{wnid}/{wnid}_boxes.txt"] = b"0 0 9 9"
        for number in (1, 0):
            files[f"{TOP}/train/{wnid}/images/{wnid}_{number}.JPEG"] = jpeg(10 * label + number)
    return files


def annotated() -> dict[str, bytes]:
    lines = [f"{name}\t{WNIDS[label]}\t0\t0\t62\t62\n" for name, label in TRUTH.items()]
    pictures = {f"{TOP}/val/images/{name}": jpeg(100 + place) for place, name in enumerate(TRUTH)}
    return {f"{TOP}/val/val_annotations.txt": "".join(lines).encode(), **pictures}


def sorted_by_class(inner: str) -> dict[str, bytes]:
    return {
        f"{TOP}/val/{WNIDS[label]}/{inner}{name}": jpeg(100 + place)
        for place, (name, label) in enumerate(TRUTH.items())
    }


def load(root: Path) -> Dataset:
    return tiny_imagenet(TinyImagenetConfig(root=str(root), size=8))


def refusal(root: Path) -> str:
    with pytest.raises(InputError) as error:
        load(root)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_official_zip_gives_parts_labels_and_names(tmp_path: Path) -> None:
    archive = zipped(tmp_path / f"{TOP}.zip", training() | annotated())
    place(replace(TinyImagenetConfig.origin(), md5=md5(archive)), tmp_path)
    data = load(tmp_path)
    assert data.class_names == ("goldfish", "crane (n02012849)", "crane (n03126707)")
    assert data.train_labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.test_labels.tolist() == [2, 0, 0, 1]  # val_0, val_1, val_10, val_2
    pixels = data.train.read(np.arange(6))
    assert pixels.shape == (6, 8, 8, 3)
    assert len({image[0, 0].tobytes() for image in pixels}) == 6


@pytest.mark.parametrize("inner", ["", "images/"])
def test_every_layout_of_the_validation_part_reads_alike(tmp_path: Path, inner: str) -> None:
    one = load(written(tmp_path / "one", training() | annotated()))
    other = load(written(tmp_path / "other", training() | sorted_by_class(inner)))
    assert one.test_labels.tolist() == other.test_labels.tolist()
    rows = np.arange(4)
    np.testing.assert_array_equal(one.test.read(rows), other.test.read(rows))


def test_without_a_list_of_words_classes_are_called_by_their_wnid(tmp_path: Path) -> None:
    written(tmp_path, training() | annotated())
    (tmp_path / TOP / "words.txt").unlink()
    assert load(tmp_path).class_names == WNIDS


def test_the_order_in_which_files_were_written_does_not_matter(tmp_path: Path) -> None:
    files = training() | annotated()
    one = load(written(tmp_path / "one", files))
    other = load(written(tmp_path / "other", dict(reversed(files.items()))))
    assert one.fingerprint == other.fingerprint


def test_a_changed_image_changes_the_fingerprint(tmp_path: Path) -> None:
    before = load(written(tmp_path, training() | annotated())).fingerprint
    written(tmp_path, {f"{TOP}/val/images/val_2.JPEG": jpeg(7)})
    assert load(tmp_path).fingerprint != before


def test_the_zip_in_place_of_another_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / f"{TOP}.zip", training())
    assert str(archive) in refusal(tmp_path)


def test_a_missing_data_set_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    message = refusal(tmp_path)
    assert str(tmp_path) in message
    assert "metagcd data get tiny_imagenet" in message


def test_a_missing_annotation_file_is_named_with_the_layouts(tmp_path: Path) -> None:
    written(tmp_path, training())
    message = refusal(tmp_path)
    assert message.startswith(str(tmp_path / TOP / "val/val_annotations.txt"))
    assert "val/<wnid>/" in message


def test_a_missing_training_folder_is_named(tmp_path: Path) -> None:
    written(tmp_path, annotated())
    assert refusal(tmp_path).startswith(str(tmp_path / TOP / "train"))


def test_an_annotation_of_an_unknown_class_is_refused(tmp_path: Path) -> None:
    written(tmp_path, training() | annotated())
    written(tmp_path, {f"{TOP}/val/val_annotations.txt": b"val_0.JPEG\tn99999999\t0\t0\t1\t1\n"})
    assert "n99999999 of val_0.JPEG" in refusal(tmp_path)


def test_an_annotated_image_that_is_missing_is_named(tmp_path: Path) -> None:
    written(tmp_path, training() | annotated())
    (tmp_path / TOP / "val/images/val_1.JPEG").unlink()
    assert refusal(tmp_path).startswith(str(tmp_path / TOP / "val/images/val_1.JPEG"))


def test_a_class_without_a_validation_folder_is_named(tmp_path: Path) -> None:
    files = {name: content for name, content in sorted_by_class("").items() if WNIDS[1] not in name}
    written(tmp_path, training() | files)
    assert refusal(tmp_path).startswith(str(tmp_path / TOP / "val" / WNIDS[1]))
