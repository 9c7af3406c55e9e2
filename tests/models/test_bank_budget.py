import os
import shutil
import subprocess
import sys

import pytest

from metagcd.models.bank_budget import clear, entries, make_room, remove, touch
from metagcd.models.bank_locks import in_use


def bank(root, number, *, size=100, used=0):
    folder = root / f"{number:016x}"
    with in_use(folder):
        (folder / "rows.bin").write_bytes(bytes(size))
    os.utime(folder / "lock", (used, used))
    return folder


@pytest.fixture
def three(tmp_path):
    return [bank(tmp_path, number, used=used) for number, used in ((1, 30), (2, 10), (3, 20))]


def names(root):
    return [entry.folder.name[-1] for entry in entries(root)]


def test_banks_are_listed_by_their_last_use(tmp_path, three):
    (tmp_path / "something else").mkdir()
    (tmp_path / "lock").touch()
    assert names(tmp_path) == ["2", "3", "1"]
    touch(three[1])
    assert names(tmp_path) == ["3", "1", "2"]
    assert {(entry.bytes, entry.complete, entry.about) for entry in entries(tmp_path)} == {(100, False, "")}


@pytest.mark.parametrize(
    ("needed", "left"),
    [(0, "231"), (100, "231"), (101, "31"), (200, "31"), (201, "1"), (301, ""), (400, "")],
)
def test_the_longest_unused_go_until_there_is_room_and_no_more(tmp_path, three, needed, left):
    assert make_room(tmp_path, needed, 400)
    assert "".join(names(tmp_path)) == left


def test_what_exceeds_the_budget_removes_nothing(tmp_path, three):
    assert not make_room(tmp_path, 401, 400)
    assert names(tmp_path) == ["2", "3", "1"]


def test_what_the_disk_cannot_hold_removes_nothing(tmp_path, three):
    size = shutil.disk_usage(tmp_path).free
    assert not make_room(tmp_path, size, 10 * size)
    assert names(tmp_path) == ["2", "3", "1"]


def test_banks_in_use_stay_and_others_go_in_their_place(tmp_path, three):
    with in_use(three[1]):
        assert not make_room(tmp_path, 301, 400)
        assert names(tmp_path) == ["2", "3", "1"]
        assert not remove(three[1])
        assert make_room(tmp_path, 150, 400)
        assert names(tmp_path) == ["2", "1"]


def test_clearing_removes_all_but_those_in_use_and_what_is_not_a_bank(tmp_path, three):
    (tmp_path / "photos").mkdir()
    (tmp_path / ".removed-1-1").mkdir()
    with in_use(three[0]):
        gone, left = clear(tmp_path)
    assert [entry.folder for entry in gone] == [three[1], three[2]]
    assert [entry.folder for entry in left] == [three[0]]
    assert sorted(path.name for path in tmp_path.iterdir()) == [three[0].name, "lock", "photos"]


def test_clearing_where_nothing_was_ever_stored_does_nothing(tmp_path):
    assert clear(tmp_path / "none") == ([], [])
    assert not (tmp_path / "none").exists()


def test_it_does_without_torch():
    code = "import sys, metagcd.models.bank_budget, metagcd.cli.cache; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
