"""Why a path cannot be opened as a picture."""

import os

import pytest
from data import corpus

from metagcd.data.pictures import UnreadableError, opened, picture_size


def _reason(path) -> str:
    with pytest.raises(UnreadableError) as caught:
        picture_size(path)
    return caught.value.reason


def test_a_path_that_is_no_file_says_so(tmp_path):
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "dangling.jpg").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    os.mkfifo(tmp_path / "pipe.jpg")
    assert _reason(tmp_path / "folder.jpg") == "a folder, not a file"
    assert _reason(tmp_path / "dangling.jpg") == "a link to nothing"
    assert _reason(tmp_path / "loop.jpg") == "a link that leads back to itself"
    assert _reason(tmp_path / "pipe.jpg") == "not a regular file"
    assert _reason(tmp_path / "absent.jpg") == "there is no such file"
    assert _reason(tmp_path / ("n" * 300)) == "its name is too long"
    assert "null" in _reason("a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is open to root")
def test_a_closed_file_says_so(tmp_path):
    (tmp_path / "closed.png").write_bytes(corpus.plain(0))
    (tmp_path / "closed.png").chmod(0)
    assert _reason(tmp_path / "closed.png") == "no permission to read it"


def test_the_size_comes_from_the_header_of_a_truncated_file():
    assert picture_size(corpus.unreadable()["truncated.jpg"][0]) == (64, 64)


def test_what_goes_wrong_while_a_picture_is_open_is_told_as_its_reason():
    with pytest.raises(UnreadableError, match=r"a damaged image \(bad tile\)"), opened(corpus.plain(0)):
        raise SyntaxError("bad\ntile")
    with pytest.raises(UnreadableError, match="too large for the memory"), opened(corpus.plain(0)):
        raise MemoryError
