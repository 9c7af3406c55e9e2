import numpy as np
import pytest
from workspace import small

from metagcd.errors import InputError
from metagcd.workspace import looking
from metagcd.workspace.looking import predictions


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return small.fitted(tmp_path_factory.mktemp("looking"))


def test_decisions_in_blocks_are_those_of_all_images_at_once(workspace, tmp_path, monkeypatch):
    images = small.batch(tmp_path / "images", {"ant": 5, "bee": 4, "wasp": 4})
    whole = workspace.predict(images)
    monkeypatch.setattr(looking, "BLOCK", 3)
    blocks = list(predictions(workspace.folder, images, small.machine()))
    assert [len(block) for block in blocks] == [3, 3, 3, 3, 1]
    again = workspace.predict(images)
    for name in ("place", "verdict", "confidence", "novelty"):
        np.testing.assert_allclose(np.concatenate([getattr(b, name) for b in blocks]), getattr(whole, name), atol=1e-5)
        np.testing.assert_allclose(getattr(again, name), getattr(whole, name), atol=1e-5)
    assert [path for block in blocks for path in block.paths] == list(whole.paths) == list(again.paths)


def test_looking_changes_nothing(workspace, tmp_path):
    images = small.batch(tmp_path / "images", {"ant": 3})
    before = small.state(workspace)
    files = sorted(path.name for path in workspace.folder.files.iterdir())
    workspace.predict(images)
    assert small.state(workspace) == before
    assert sorted(path.name for path in workspace.folder.files.iterdir()) == files


def test_a_file_that_breaks_on_the_way_is_skipped_and_the_others_are_decided_of(workspace, tmp_path):
    images = small.batch(tmp_path / "images", {"ant": 4, "bee": 4})
    found = predictions(workspace.folder, images, small.machine())
    broken = sorted(images.iterdir())[2]
    broken.write_bytes(b"no picture any more")
    (block,) = list(found)
    assert len(found) == 8
    assert len(block) == 7
    assert str(broken) not in list(block.paths)
    (skipped,) = found.skipped
    assert skipped.path == str(broken)
    assert "Cannot read" in skipped.reason


def test_images_of_the_taught_classes_are_mostly_given_their_class(workspace, tmp_path):
    images = small.batch(tmp_path / "images", {"ant": 8, "bee": 8, "fly": 8})
    found = workspace.predict(images)
    right = [
        one == path.rpartition("/")[2].partition("-")[0] for path, one in zip(found.paths, found.classes, strict=True)
    ]
    assert len(right) == 24
    assert sum(right) > 18


def test_a_folder_without_images_is_an_error_for_the_reader(workspace, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="No readable image"):
        workspace.predict(tmp_path / "empty")
