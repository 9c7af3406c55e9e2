from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from metagcd.errors import InputError
from metagcd.models.bank_config import BankConfig, bank_budget, bank_root, view_pairs


@pytest.mark.parametrize("views", [2, 3, 4, 5, 8, 9])
def test_every_pair_of_views_comes_once(views):
    assert sorted(view_pairs(views)) == list(combinations(range(1, views + 1), 2))


@pytest.mark.parametrize("views", [4, 8])
def test_a_round_shows_every_view_once(views):
    pairs = view_pairs(views)
    for start in range(0, len(pairs), views // 2):
        assert set(Counter(view for pair in pairs[start : start + views // 2] for view in pair).values()) == {1}


def test_epochs_go_through_all_pairs_from_a_place_that_the_seed_gives():
    config = BankConfig(views=4)
    assert sorted(config.pair(7, epoch) for epoch in range(6)) == list(combinations(range(1, 5), 2))
    assert config.pair(7, 0) == config.pair(7, 6) == config.pair(1, 6)
    assert config.pair(7, 0) != config.pair(8, 0)
    assert {BankConfig(views=2).pair(seed, epoch) for seed in range(3) for epoch in range(3)} == {(1, 2)}


def test_views_are_drawn_anew_every_few_epochs_or_never():
    assert [BankConfig().redraw(epoch) for epoch in range(4)] == [0, 0, 0, 0]
    assert [BankConfig(redraw_every=2).redraw(epoch) for epoch in range(5)] == [0, 0, 1, 1, 2]
    assert BankConfig().redrawn_after(3, 50) == 50
    config = BankConfig(redraw_every=3)
    for epoch, later in pairwise(range(10)):
        assert (config.redraw(later) > config.redraw(epoch)) == (config.redrawn_after(epoch, 99) == later)


@pytest.mark.parametrize("wrong", [{"views": 1}, {"redraw_every": -1}])
def test_numbers_that_name_no_bank_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        BankConfig(**wrong)


def test_the_folder_is_that_of_the_variable_or_in_the_home(monkeypatch):
    monkeypatch.setenv("METAGCD_CACHE", "~/banks")
    assert bank_root() == Path.home() / "banks"
    monkeypatch.delenv("METAGCD_CACHE")
    assert bank_root() == Path.home() / ".cache/metagcd/bank"


def test_the_budget_is_what_is_given_or_that_of_the_variable_or_twenty(monkeypatch):
    monkeypatch.setenv("METAGCD_BANK_BUDGET", "3.5")
    assert bank_budget(0.0) == 0.0
    assert bank_budget() == 3.5
    monkeypatch.delenv("METAGCD_BANK_BUDGET")
    assert bank_budget() == 20.0


@pytest.mark.parametrize("words", ["much", "-1", "nan"])
def test_a_budget_that_is_no_amount_is_refused(monkeypatch, words):
    monkeypatch.setenv("METAGCD_BANK_BUDGET", words)
    with pytest.raises(InputError, match=r"METAGCD_BANK_BUDGET must be a number|must be 0 GB or more"):
        bank_budget()
