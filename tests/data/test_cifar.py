import pickle
from pathlib import Path

import numpy as np
import pytest
from official import cifar_batch, md5, tar_gz, written
from torchvision.datasets import CIFAR10, CIFAR100

from metagcd.data.cifar import read_cifar
from metagcd.errors import InputError


def fine(pixels: np.ndarray, labels: list[int]) -> dict[str, bytes]:
    meta = {"fine_label_names": ["apple", "bear", "crab"], "coarse_label_names": ["fruit", "animal"]}
    half = len(pixels) // 2
    return {
        "cifar-100-python/train": cifar_batch("fine_labels", labels[:half], pixels[:half]),
        "cifar-100-python/test": cifar_batch("fine_labels", labels[half:], pixels[half:]),
        "cifar-100-python/meta": pickle.dumps(meta, protocol=2),
    }


def kind_of(root: Path, base: type[CIFAR10], parts: tuple[list[str], list[str]]) -> type[CIFAR10]:
    """Torchvision's reader with the checksums of the files in `root` in place of the official ones."""
    folder = root / base.base_folder
    sums = [[[name, md5(folder / name)] for name in names] for names in parts]
    meta = {**base.meta, "md5": md5(folder / base.meta["filename"])}
    return type("Small", (base,), {"train_list": sums[0], "test_list": sums[1], "meta": meta})


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)


LABELS = [0, 1, 2, 0, 1, 2, 2, 1, 0, 2, 1, 0]
PARTS = (["train"], ["test"])


def test_fine_labels_names_and_upright_pixels_come_out_as_they_went_in(tmp_path: Path, pixels: np.ndarray) -> None:
    kind = kind_of(written(tmp_path, fine(pixels, LABELS)), CIFAR100, PARTS)
    read = read_cifar("cifar100", kind, tmp_path)
    assert read.class_names == ("apple", "bear", "crab")
    assert read.train_labels.tolist() == LABELS[:6]
    assert read.test_labels.tolist() == LABELS[6:]
    np.testing.assert_array_equal(read.train.read(np.arange(6)), pixels[:6])
    np.testing.assert_array_equal(read.test.read(np.array([5, 0])), pixels[[11, 6]])


def test_the_batches_of_cifar10_are_joined_in_their_order(tmp_path: Path, pixels: np.ndarray) -> None:
    names = [f"data_batch_{number}" for number in range(1, 6)]
    files = {
        f"{name}": cifar_batch("labels", LABELS[2 * i : 2 * i + 2], pixels[2 * i : 2 * i + 2])
        for i, name in enumerate(names)
    }
    files["test_batch"] = cifar_batch("labels", LABELS[10:], pixels[10:])
    files["batches.meta"] = pickle.dumps({"label_names": ["plane", "car", "bird"]}, protocol=2)
    written(tmp_path / "cifar-10-batches-py", files)
    read = read_cifar("cifar10", kind_of(tmp_path, CIFAR10, (names, ["test_batch"])), tmp_path)
    assert read.class_names == ("plane", "car", "bird")
    assert read.train_labels.tolist() == LABELS[:10]
    assert read.test_labels.tolist() == LABELS[10:]
    np.testing.assert_array_equal(read.train.read(np.arange(10)), pixels[:10])


def test_the_archive_is_unpacked_when_its_folder_is_absent(tmp_path: Path, pixels: np.ndarray) -> None:
    files = fine(pixels, LABELS)
    kind = kind_of(written(tmp_path / "elsewhere", files), CIFAR100, PARTS)
    root = tmp_path / "root"
    root.mkdir()
    kind.tgz_md5 = md5(tar_gz(root / "cifar-100-python.tar.gz", files))
    assert (
        read_cifar("cifar100", kind, root).fingerprint
        == read_cifar("cifar100", kind, tmp_path / "elsewhere").fingerprint
    )


def test_an_archive_that_is_not_the_official_one_is_refused(tmp_path: Path, pixels: np.ndarray) -> None:
    archive = tar_gz(tmp_path / "cifar-100-python.tar.gz", fine(pixels, LABELS))
    with pytest.raises(InputError, match=CIFAR100.tgz_md5) as error:
        read_cifar("cifar100", CIFAR100, tmp_path)
    assert str(archive) in str(error.value)


def test_files_that_are_not_the_official_ones_are_refused(tmp_path: Path, pixels: np.ndarray) -> None:
    written(tmp_path, fine(pixels, LABELS))
    with pytest.raises(InputError, match="not the official ones") as error:
        read_cifar("cifar100", CIFAR100, tmp_path)
    assert str(tmp_path / "cifar-100-python") in str(error.value)
    assert "\n" not in str(error.value)


def test_the_fingerprint_follows_pixels_and_labels(tmp_path: Path, pixels: np.ndarray) -> None:
    other = pixels.copy()
    other[7, 3, 3, 0] ^= 1
    swapped = [*LABELS[:-2], 0, 1]
    digests = []
    for name, files in {
        "same": fine(pixels, LABELS),
        "again": fine(pixels, LABELS),
        "pixel": fine(other, LABELS),
        "label": fine(pixels, swapped),
    }.items():
        root = written(tmp_path / name, files)
        digests.append(read_cifar("cifar100", kind_of(root, CIFAR100, PARTS), root).fingerprint)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
