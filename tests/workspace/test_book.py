import numpy as np
import pytest

from metagcd.errors import InputError
from metagcd.workspace.book import ClassState, heirs, named, new_ids, pooled, present, statistics, write
from metagcd.workspace.database import connected, create, transaction
from metagcd.workspace.folder import Folder
from metagcd.workspace.journal import begin


def state(one, **changes):
    given = {"name": one, "known": False, "status": "alive", "born": 1, "spread": 0.5, "count": 3} | changes
    return ClassState(id=one, mean=given.pop("mean", np.array([1.0, 0.0], dtype=np.float32)), **given)


@pytest.fixture
def connection(tmp_path):
    create(Folder(tmp_path))
    with connected(Folder(tmp_path)) as opened, transaction(opened):
        yield opened


def test_the_statistics_of_a_union_are_those_of_all_its_images():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(count, 5)).astype(np.float32) for count in (1, 7, 4)]
    each = [statistics(part) for part in parts]
    states = [state(str(n), mean=mean, spread=spread, count=count) for n, (mean, spread, count) in enumerate(each)]
    mean, spread, count = pooled(states)
    whole = np.concatenate(parts).astype(np.float64)
    expected = [sum(row[axis] for row in whole) / 12 for axis in range(5)]
    squares = sum((row[axis] - expected[axis]) ** 2 for row in whole for axis in range(5))
    assert count == 12
    np.testing.assert_allclose(mean, expected, rtol=1e-5)
    assert spread == pytest.approx((squares / 11) ** 0.5, rel=1e-5)


def test_a_single_image_has_no_spread():
    mean, spread, count = statistics(np.ones((1, 3), dtype=np.float32))
    assert (mean.tolist(), count) == ([1, 1, 1], 1)
    assert np.isnan(spread)
    assert np.isnan(pooled([state("a", spread=float("nan"), count=1)])[1])


def test_what_was_written_last_and_holds_is_what_is_there(connection):
    write(connection, begin(connection, "fit", "first"), [state("novel-0001"), state("ant", known=True)])
    second = begin(connection, "rename", "second")
    write(connection, second, [state("novel-0001", name="beetle", spread=float("nan"), similarity=0.5)])
    ant, beetle = present(connection)
    assert (ant.id, beetle.id, beetle.name, beetle.similarity) == ("ant", "novel-0001", "beetle", 0.5)
    assert np.isnan(beetle.spread)
    connection.execute("UPDATE operations SET undone_by = 1 WHERE number = ?", (second,))
    assert [one.name for one in present(connection)] == ["ant", "novel-0001"]


def test_taught_classes_come_first_and_numbers_in_names_count(connection):
    ids = ["novel-0010", "b10", "novel-0002", "b9"]
    write(connection, begin(connection, "fit", ""), [state(one, known=one.startswith("b")) for one in ids])
    assert [one.id for one in present(connection)] == ["b9", "b10", "novel-0002", "novel-0010"]


def test_an_id_is_never_given_twice_not_even_after_it_was_undone(connection):
    assert new_ids(connection, 2) == ("novel-0001", "novel-0002")
    operation = begin(connection, "discover", "")
    write(connection, operation, [state("novel-0007"), state("novel-x"), state("novel-12345")])
    connection.execute("UPDATE operations SET undone_by = 1")
    assert new_ids(connection, 1) == ("novel-12346",)
    assert new_ids(connection, 0) == ()


def test_the_heir_of_a_class_merged_twice_is_the_last():
    states = [state("a", status="merged", heir="b"), state("b", status="merged", heir="c"), state("c"), state("d")]
    assert heirs(states) == {"a": "c", "b": "c", "c": "c", "d": "d"}


def test_a_class_is_found_by_id_or_name():
    states = [state("novel-0001", name="beetle"), state("novel-0002", status="merged", heir="novel-0001")]
    assert named(states, "beetle") is named(states, "novel-0001") is states[0]
    with pytest.raises(InputError, match="`novel-0002` was merged into `novel-0001`"):
        named(states, "novel-0002")
    with pytest.raises(InputError, match="Did you mean `beetle`"):
        named(states, "beetel")
