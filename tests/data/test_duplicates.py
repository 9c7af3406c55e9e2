"""Equal files are grouped, whatever their names."""

from data import corpus

from metagcd.data.duplicates import duplicates
from metagcd.data.files import Paths


def test_only_files_of_the_same_bytes_are_grouped(tmp_path):
    files = {"a": b"one", "b": b"two", "c": b"one", "d": b"longer", "e": b"two", "f": b"one", "g": b"", "h": b""}
    corpus.write(tmp_path, files)
    (tmp_path / "i").symlink_to(tmp_path / "d")
    rows = duplicates(Paths.of(str(tmp_path), [*files, "i", "gone"]))
    assert rows == ((0, 2, 5), (1, 4), (3, 8))


def test_no_files_have_no_duplicates(tmp_path):
    assert duplicates(Paths.of(str(tmp_path), [])) == ()
