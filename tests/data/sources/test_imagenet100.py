from pathlib import Path

import numpy as np
import pytest
from official import jpeg, written

from metagcd.data.sources.imagenet100 import Imagenet100Config, imagenet100
from metagcd.errors import InputError

WNIDS = ("n01440764", "n01443537", "n01484850")


def files() -> dict[str, bytes]:
    train = {f"imagenet/train/{wnid}/{wnid}_{n}.JPEG": jpeg(10 * k + n) for k, wnid in enumerate(WNIDS) for n in (1, 0)}
    val = {f"imagenet/val/{wnid}/ILSVRC2012_val_{k}.JPEG": jpeg(100 + k) for k, wnid in enumerate(WNIDS)}
    return train | val


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(tmp_path, files() | {"imagenet100.txt": b"n01484850 great white shark\n\nn01440764\n"})


def refusal(config: Imagenet100Config) -> str:
    with pytest.raises(InputError) as error:
        imagenet100(config)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_classes_are_those_of_the_list_in_its_order(root: Path) -> None:
    data = imagenet100(Imagenet100Config(root=str(root), size=8))
    assert data.class_names == ("great white shark", "n01440764")
    assert data.train_labels.tolist() == [0, 0, 1, 1]
    assert data.test_labels.tolist() == [0, 1]
    whole = imagenet100(Imagenet100Config(root=str(root), size=8)).test.read(np.array([1, 0]))
    np.testing.assert_array_equal(data.test.read(np.array([0, 1])), whole[::-1])


def test_folder_and_list_may_lie_elsewhere(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    chosen = tmp_path_factory.mktemp("lists") / "mine.txt"
    chosen.write_text("n01443537\tgoldfish\n")
    config = Imagenet100Config(root="/absent", folder=str(root / "imagenet"), class_list=str(chosen), size=8)
    assert imagenet100(config).class_names == ("goldfish",)


def test_a_changed_image_changes_the_fingerprint_unless_its_class_is_not_listed(root: Path) -> None:
    config = Imagenet100Config(root=str(root), size=8)
    before = imagenet100(config).fingerprint
    written(root, {"imagenet/val/n01443537/ILSVRC2012_val_1.JPEG": jpeg(7)})
    assert imagenet100(config).fingerprint == before
    written(root, {"imagenet/val/n01440764/ILSVRC2012_val_0.JPEG": jpeg(7)})
    assert imagenet100(config).fingerprint != before


def test_a_missing_folder_is_answered_with_how_to_get_it(tmp_path: Path) -> None:
    message = refusal(Imagenet100Config(root=str(tmp_path)))
    assert str(tmp_path) in message
    assert "image-net.org" in message


def test_a_missing_list_is_named_with_what_it_should_hold(root: Path) -> None:
    (root / "imagenet100.txt").unlink()
    message = refusal(Imagenet100Config(root=str(root)))
    assert message.startswith(str(root / "imagenet100.txt"))
    assert "n01440764" in message


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"goldfish\n", "`goldfish` is not a wnid"), (b"n01440764\nn01440764 x\n", "there twice"), (b"\n", "it is empty")],
)
def test_a_list_that_cannot_be_meant_is_refused(root: Path, content: bytes, what: str) -> None:
    (root / "imagenet100.txt").write_bytes(content)
    message = refusal(Imagenet100Config(root=str(root)))
    assert message.startswith(str(root / "imagenet100.txt"))
    assert what in message


def test_a_listed_class_without_a_folder_is_named(root: Path) -> None:
    (root / "imagenet100.txt").write_bytes(b"n09999999\n")
    message = refusal(Imagenet100Config(root=str(root)))
    assert message.startswith(str(root / "imagenet/train/n09999999"))
    assert "val/<wnid>" in message
