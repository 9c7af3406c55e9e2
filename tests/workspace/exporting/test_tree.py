import pytest

from metagcd.errors import InputError
from metagcd.workspace.exporting.tree import UNSURE, folder_names


@pytest.mark.parametrize("how", ["link", "copy"])
def test_every_image_of_the_session_lies_in_one_folder(workspace, tmp_path, how):
    workspace.export("tree", tmp_path / "tree", session=1, settings={"how": how})
    found = list((tmp_path / "tree").glob("*/*"))
    assert len(found) == 24
    assert all(path.is_symlink() == (how == "link") and path.is_file() for path in found)
    ids = {one.id for one in workspace.classes().classes}
    assert {path.parent.name for path in found} <= ids | {UNSURE}


def test_a_folder_with_something_in_it_is_refused(workspace, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        workspace.export("tree", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_folder_names_are_plain_and_never_shared():
    names = {"a": "x/y", "b": "x_y", "c": "X_Y", "d": "..", "e": UNSURE, "f": "tab\there", "g": "ünïcode"}
    found = folder_names(names)
    assert found["a"] == "x_y"
    assert found["g"] == "ünïcode"
    assert len({one.casefold() for one in found.values()} | {UNSURE}) == len(names) + 1
    assert not any(set(one) & set('/\\:*?"<>|\t') or one in {"", ".", ".."} for one in found.values())
