import numpy as np
import pytest
from workspace import streams

from metagcd.errors import InputError
from metagcd.workspace.sorting import sort_session
from metagcd.workspace.types import KNOWN, NEW, UNSURE


def session(places, each=20, *, seed=5, n_novel=None, **how):
    table, judge = streams.taught()
    features, truth = streams.images(places, each, seed=seed, **how)
    return sort_session(features, table, judge, n_novel=n_novel, seed=0), features, truth


def test_new_classes_are_found_one_group_each_and_known_ones_recognised():
    outcome, _, truth = session(range(9))
    assert outcome.count.k == len(outcome.groups) == 3
    assert outcome.count.low <= 3 <= outcome.count.high
    classes = {int(np.bincount(truth[group.rows]).argmax()) for group in outcome.groups}
    assert classes == {6, 7, 8}
    known = truth < 6
    assert (outcome.scores.place[known] == truth[known]).mean() > 0.98
    for group in outcome.groups:
        assert (truth[group.rows] == np.bincount(truth[group.rows]).argmax()).all()


def test_a_session_of_known_classes_brings_no_group():
    for seed in range(5):
        outcome, _, _ = session(range(6), seed=seed)
        assert outcome.groups == ()
        assert outcome.count.k == 0


def test_a_session_may_bring_nothing_but_new_classes():
    outcome, _, _ = session([7, 9])
    assert outcome.count.k == 2
    assert (outcome.scores.verdict != KNOWN).all()


def test_verdict_and_place_agree_with_the_groups():
    outcome, features, _ = session(range(9))
    table, _ = streams.taught()
    place, verdict = outcome.scores.place, outcome.scores.verdict
    for number, group in enumerate(outcome.groups):
        np.testing.assert_array_equal(group.rows, np.flatnonzero((verdict == NEW) & (place == len(table) + number)))
        assert set(group.representatives) <= set(group.rows)
        assert 0 <= group.cohesion <= 1
        assert -1 <= group.nearest_similarity <= 1
        assert 0 <= group.nearest < len(table)
        np.testing.assert_allclose(group.mean, features[group.rows].mean(0), atol=0.02)
    assert (place[verdict == KNOWN] < len(table)).all()
    assert (place < len(table) + len(outcome.groups)).all()


def test_images_in_another_order_get_the_same_answers():
    table, judge = streams.taught()
    features, _ = streams.images(range(9), 20, seed=5)
    order = np.random.default_rng(1).permutation(len(features))
    plain, mixed = (sort_session(x, table, judge, n_novel=None, seed=0) for x in (features, features[order]))
    np.testing.assert_array_equal(plain.scores.verdict[order], mixed.scores.verdict)
    sets = [{frozenset(group.rows.tolist()) for group in plain.groups}]
    sets.append({frozenset(order[group.rows].tolist()) for group in mixed.groups})
    assert sets[0] == sets[1]


def test_more_images_of_known_classes_change_no_group():
    table, judge = streams.taught()
    features, _ = streams.images([6, 7], 20, seed=5)
    more, _ = streams.images(range(6), 30, seed=6)
    few = sort_session(features, table, judge, n_novel=None, seed=0)
    many = sort_session(np.concatenate([features, more]), table, judge, n_novel=None, seed=0)
    assert {frozenset(group.rows.tolist()) for group in few.groups} == {
        frozenset(group.rows.tolist()) for group in many.groups
    }


def test_what_one_session_found_the_next_one_recognises():
    outcome, _, truth = session(range(9))
    _, judge = streams.taught()
    table = outcome.with_groups(("a", "b", "c"))
    name = {int(np.bincount(truth[group.rows]).argmax()): 6 + i for i, group in enumerate(outcome.groups)}
    fresh, classes = streams.images(range(9), 20, seed=11)
    later = sort_session(fresh, table, judge, n_novel=None, seed=0)
    assert later.groups == ()
    expected = np.array([name.get(int(place), int(place)) for place in classes])
    assert (later.scores.place == expected).mean() > 0.98
    assert not later.table.known[6:].any()
    assert (later.table.counts[6:] > table.counts[6:]).all()


def test_the_same_batch_twice_gives_the_same_groups():
    first, features, _ = session(range(9))
    again, _, _ = session(range(9))
    assert [group.rows.tolist() for group in first.groups] == [group.rows.tolist() for group in again.groups]
    _, judge = streams.taught()
    repeated = sort_session(features, first.with_groups(("a", "b", "c")), judge, n_novel=None, seed=0)
    assert repeated.groups == ()


@pytest.mark.parametrize("given", [0, 1, 2, 3])
def test_as_many_groups_as_asked_for(given):
    outcome, _, _ = session(range(8), n_novel=given)
    assert len(outcome.groups) == given
    assert (outcome.count.k, outcome.count.low, outcome.count.high) == (given, given, given)


def test_statistics_of_known_classes_follow_recognised_images_and_nothing_else():
    table, _ = streams.taught()
    outcome, _, _ = session([0, 1, 8], 25)
    assert (outcome.table.counts[:2] > table.counts[:2]).all()
    np.testing.assert_array_equal(outcome.table.means[2:], table.means[2:])
    assert outcome.table.ids == table.ids


@pytest.mark.parametrize("images", [0, 1, 2, 3])
def test_hardly_any_images_make_no_class(images):
    table, judge = streams.taught()
    features = streams.centres()[6 : 6 + images]
    outcome = sort_session(features, table, judge, n_novel=None, seed=0)
    assert outcome.groups == ()
    assert len(outcome.scores) == images
    assert (outcome.scores.verdict != KNOWN).all()


def test_copies_of_one_new_image_are_one_class():
    table, judge = streams.taught()
    outcome = sort_session(np.repeat(streams.centres()[[8]], 30, axis=0), table, judge, n_novel=None, seed=0)
    assert len(outcome.groups) == 1
    assert len(outcome.groups[0].rows) == 30


def test_copies_of_one_known_image_are_that_class():
    table, judge = streams.taught()
    outcome = sort_session(np.repeat(streams.centres()[[2]], 30, axis=0), table, judge, n_novel=None, seed=0)
    assert outcome.groups == ()
    assert (outcome.scores.place == 2).all()


def test_scattered_images_are_unsure_and_form_no_class():
    table, judge = streams.taught()
    rng = np.random.default_rng(0)
    features = streams.unit(rng.normal(size=(40, streams.DIM)))
    outcome = sort_session(features, table, judge, n_novel=None, seed=0)
    grouped = sum(len(group.rows) for group in outcome.groups)
    assert grouped < 10
    assert (outcome.scores.verdict == UNSURE).mean() > 0.5


def test_features_of_another_encoder_or_without_numbers_are_refused():
    table, judge = streams.taught()
    for features, words in (
        (np.ones((3, 5), dtype=np.float32), "5 numbers, those of the classes 16"),
        (np.full((3, streams.DIM), np.nan, dtype=np.float32), "NaN"),
    ):
        with pytest.raises(InputError, match=words):
            sort_session(features, table, judge, n_novel=None, seed=0)


def test_a_negative_number_of_new_classes_is_refused():
    with pytest.raises(InputError, match="got -1"):
        session([0], n_novel=-1)
