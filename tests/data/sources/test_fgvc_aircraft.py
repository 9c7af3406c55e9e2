import io
from pathlib import Path

import numpy as np
import pytest
from official import jpeg, written
from PIL import Image
from torchvision.datasets import FGVCAircraft

from metagcd.data.sources.fgvc_aircraft import FgvcAircraftConfig, fgvc_aircraft
from metagcd.errors import InputError

DATA = "fgvc-aircraft-2013b/data"


def with_banner() -> bytes:
    pixels = np.full((60, 40, 3), 255, dtype=np.uint8)
    pixels[-20:] = 0
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=95)
    return stream.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "variants.txt": b"707-320\nF/A-18\nAn-12\n",
        "images_variant_trainval.txt": b"0001 An-12\n0000 F/A-18\n",
        "images_variant_test.txt": b"0002 707-320\n",
        "images/0000.jpg": jpeg(0, width=40, height=60),
        "images/0001.jpg": jpeg(1, width=40, height=60),
        "images/0002.jpg": with_banner(),
    }
    return written(tmp_path, {f"{DATA}/{name}": content for name, content in files.items()})


def load(root: Path):
    return fgvc_aircraft(FgvcAircraftConfig(root=str(root), size=8))


def refusal(root: Path) -> str:
    with pytest.raises(InputError) as error:
        load(root)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_lists_decide_parts_labels_and_names(root: Path) -> None:
    data = load(root)
    assert data.class_names == ("707-320", "F/A-18", "An-12")
    assert data.train_labels.tolist() == [2, 1]
    assert data.test_labels.tolist() == [0]


def test_the_banner_with_the_name_of_the_owner_is_cut_off(root: Path) -> None:
    pixels = load(root).test.read(np.array([0]))
    assert pixels.min() > 128  # compression smears the edge; the banner itself is black


def test_a_changed_image_changes_the_fingerprint(root: Path) -> None:
    before = load(root).fingerprint
    written(root, {f"{DATA}/images/0001.jpg": jpeg(5, width=40, height=60)})
    assert load(root).fingerprint != before


def test_a_missing_data_set_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    assert "metagcd data get fgvc_aircraft" in refusal(tmp_path)


@pytest.mark.parametrize("name", ["variants.txt", "images_variant_trainval.txt", "images_variant_test.txt"])
def test_a_missing_list_is_named_with_the_layout(root: Path, name: str) -> None:
    (root / DATA / name).unlink()
    message = refusal(root)
    assert message.startswith(str(root / DATA / name))
    assert "and the folder data/images" in message


def test_a_variant_that_has_no_name_is_refused(root: Path) -> None:
    written(root, {f"{DATA}/images_variant_test.txt": b"0002 Concorde\n"})
    assert "the variant `Concorde` of image 0002" in refusal(root)


def test_a_listed_image_that_is_missing_is_named(root: Path) -> None:
    (root / DATA / "images/0002.jpg").unlink()
    assert refusal(root).startswith(str(root / DATA / "images/0002.jpg"))


def test_it_comes_from_where_torchvision_gets_it() -> None:
    assert FgvcAircraftConfig.origin().url == FGVCAircraft._URL
