from dataclasses import replace

import numpy as np
import pytest

from metagcd.errors import InputError
from metagcd.workspace.types import KNOWN, NEW, UNSURE, VERDICTS, ClassTable, Count, Group, Scores, Sorted


def table(ids=("ant", "bee"), **changes):
    n = len(ids)
    columns = {
        "means": np.eye(n, 3, dtype=np.float32),
        "spreads": np.ones(n, dtype=np.float32),
        "counts": np.arange(1, n + 1),
        "known": np.ones(n, dtype=np.bool_),
    }
    return ClassTable(ids=ids, **columns | changes)


def test_verdicts_are_told_apart_and_have_words():
    assert [VERDICTS[code] for code in (KNOWN, UNSURE, NEW)] == ["known", "unsure", "new"]


def test_rows_of_a_table_are_classes_in_the_order_asked_for():
    chosen = table().rows(np.array([1, 0]))
    assert chosen.ids == ("bee", "ant")
    assert chosen.counts.tolist() == [2, 1]
    assert table().rows(np.array([False, True])).ids == ("bee",)


def test_tables_join_one_after_the_other():
    both = table().joined(table(("cat",)))
    assert both.ids == ("ant", "bee", "cat")
    assert both.means.shape == (3, 3)


@pytest.mark.parametrize("ids", [("ant", "ant"), ("ant", "bee", "cat")])
def test_a_table_with_an_id_twice_or_one_too_many_is_refused(ids):
    with pytest.raises(InputError, match="an id of its own"):
        replace(table(), ids=ids)


def test_a_table_with_a_mean_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="NaN"):
        table(means=np.full((2, 3), np.nan, dtype=np.float32))


def test_groups_become_discovered_classes_under_the_ids_they_are_given():
    scores = Scores(
        place=np.array([2]), confidence=np.ones(1), novelty=np.ones(1), verdict=np.array([NEW], dtype=np.int8)
    )
    group = Group(
        rows=np.array([0]),
        mean=np.ones(3, dtype=np.float32),
        spread=0.5,
        cohesion=1.0,
        nearest=0,
        nearest_similarity=0.2,
        representatives=np.array([0]),
    )
    outcome = Sorted(scores=scores, groups=(group,), count=Count(k=1, low=1, high=1), table=table())
    grown = outcome.with_groups(("novel-0001",))
    assert grown.ids == ("ant", "bee", "novel-0001")
    assert grown.known.tolist() == [True, True, False]
    assert grown.counts.tolist() == [1, 2, 1]
    with pytest.raises(InputError, match="0 ids for 1 groups"):
        outcome.with_groups(())
