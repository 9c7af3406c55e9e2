from pathlib import Path

import pytest

from metagcd.data.root import data_root


def test_the_folder_given_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAGCD_DATA", "/from/environment")
    assert data_root("/given") == Path("/given")
    assert data_root() == Path("/from/environment")


def test_without_any_choice_the_folder_is_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("METAGCD_DATA", raising=False)
    assert data_root() == Path.home() / ".cache/metagcd/data"


def test_a_tilde_stands_for_the_home_folder() -> None:
    assert data_root("~/pictures") == Path.home() / "pictures"
