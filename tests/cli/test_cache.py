import os
import re

import pytest
from models import banks

from metagcd.cli import cache
from metagcd.cli.main import main
from metagcd.models import bank_files
from metagcd.models.bank_locks import in_use


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("METAGCD_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def two(root):
    """A bank of plain views and a later one of random views; returned by their names."""
    found = banks.watched(root)
    found.plain()
    (plain,) = banks.folders(root)
    os.utime(plain / "lock", (1_000_000_000, 1_000_000_000))
    found.shown()
    return plain.name, next(folder.name for folder in banks.folders(root) if folder != plain)


def test_banks_are_listed_with_size_last_use_and_content(root, two, capsys):
    main(["cache", "ls"])
    head, later, first = capsys.readouterr().out.splitlines()
    plain, shown = two
    assert head.startswith(f"2 banks in {root}, 0.0 MB")
    assert re.fullmatch(rf"{shown} +0\.0 MB  20\d\d-\d\d-\d\d \d\d:\d\d  complete  20 images, 4 views, bfloat16", later)
    assert first.startswith(plain)
    assert "2001-09-0" in first
    assert first.endswith("complete  20 images, plain views, bfloat16")


def test_a_check_names_what_is_damaged_or_partial(root, two, capsys):
    plain, shown = two
    with (root / plain / bank_files.ROWS).open("r+b") as file:
        file.write(b"\1\2\3")
    (root / shown / bank_files.COMPLETE).unlink()
    cache.ls()
    assert [line.split()[5] for line in capsys.readouterr().out.splitlines()[1:]] == ["partial", "complete"]
    cache.ls(check=True)
    assert [line.split()[5] for line in capsys.readouterr().out.splitlines()[1:]] == ["partial", "damaged"]


def test_clearing_removes_what_is_not_in_use_and_says_so(root, two, capsys):
    shown = two[1]
    with in_use(root / shown):
        main(["cache", "clear"])
    assert capsys.readouterr().out.splitlines() == [
        f"Removed 1 banks, 0.0 MB, from {root}.",
        f"{shown} is in use and was left.",
    ]
    assert [folder.name for folder in banks.folders(root)] == [shown]
    cache.clear()
    cache.ls()
    assert capsys.readouterr().out.splitlines()[1:] == [f"0 banks in {root}, 0.0 MB."]


def test_without_any_bank_both_say_so(root, capsys):
    cache.ls()
    cache.clear()
    assert capsys.readouterr().out.splitlines() == [
        f"0 banks in {root}, 0.0 MB.",
        f"Removed 0 banks, 0.0 MB, from {root}.",
    ]
