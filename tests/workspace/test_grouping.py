import numpy as np
import pytest
from workspace import streams

from metagcd.workspace.grouping import (
    Grouping,
    Pool,
    beside_others,
    extended,
    first_means,
    grouping,
    joined_means,
    number_to_start,
    partners,
    settled,
)


def pool(places, each=20, *, seed=5):
    table, judge = streams.taught()
    features, truth = streams.images(places, each, seed=seed)
    scores = judge.look(features, table)
    return Pool(features=features, novelty=scores.novelty, table=table, judge=judge), truth


def test_there_are_more_first_means_than_classes_and_all_are_among_the_new_images():
    found, _ = pool(range(9))
    first = first_means(found, n_novel=None, seed=0)
    assert len(first) == number_to_start(found, None) > 3
    nearest = ((first[:, None] - streams.centres()[None]) ** 2).sum(-1).argmin(1)
    assert {6, 7, 8} <= set(nearest.tolist())


def test_known_means_stay_while_groups_move_to_their_images():
    found, truth = pool(range(8))
    start = streams.centres()[[6, 7]] + 0.05
    moved = settled(found, start.astype(np.float32))
    np.testing.assert_array_equal(moved.table.means[:6], found.table.means)
    np.testing.assert_array_equal(moved.labels, truth)
    for place in (6, 7):
        np.testing.assert_allclose(moved.table.means[place], found.features[truth == place].mean(0), atol=1e-5)


def test_groups_of_a_single_image_go():
    found, _ = pool(range(7))
    alone = -streams.centres()[[6]]
    moved = settled(found, np.concatenate([streams.centres()[[6]], alone]))
    assert len(moved.table) == 7


def test_halves_of_a_class_are_partners_and_another_class_stands_apart():
    found, truth = pool([*range(6), 6, 7], 40)
    own = found.features[truth == 6]
    side = own @ (own[0] - own.mean(0)) > np.median(own @ (own[0] - own.mean(0)))
    means = np.stack([own[side].mean(0), own[~side].mean(0), found.features[truth == 7].mean(0)])
    labels = truth.copy()
    labels[truth == 7] = 8
    labels[np.flatnonzero(truth == 6)[~side]] = 7
    partner, firmness = partners(found, Grouping(labels=labels, table=extended(found, means, labels)))
    assert partner[:2].tolist() == [7, 6]
    assert (firmness[:2] < 1).all()
    assert firmness[2] > 1


def test_novelty_beside_the_others_is_low_for_a_half_and_high_for_a_class():
    found, truth = pool(range(8), 40)
    whole = settled(found, streams.centres()[[6, 7]])
    novelty, _ = beside_others(found, whole)
    assert (novelty > 0.9).all()
    own = found.features[truth == 6]
    twice = settled(found, np.stack([own[:20].mean(0), own[20:].mean(0), streams.centres()[7]]))
    novelty, nearest = beside_others(found, twice)
    assert (novelty[:2] < 0.5).all()
    assert nearest[:2].tolist() == [7, 6]


def test_joining_weighs_means_by_their_images():
    found, _ = pool([*range(6), 6, 6, 6, 7], 10)
    two = settled(found, streams.centres()[[6, 7]])
    joined = joined_means(two, np.array([-1, 6]), known=6)
    counts = two.table.counts[6:]
    np.testing.assert_allclose(joined, (counts @ two.table.means[6:] / counts.sum())[None], rtol=1e-5)


def test_what_is_part_of_a_known_class_goes():
    found, _ = pool(range(8))
    two = settled(found, streams.centres()[[6, 7]])
    left = joined_means(two, np.array([2, -1]), known=6)
    np.testing.assert_allclose(left, two.table.means[[7]], rtol=1e-6)


@pytest.mark.parametrize("given", [None, 1, 2, 5])
def test_groups_are_as_many_as_stand_apart_or_as_asked_for(given):
    found, _ = pool(range(9))
    first = first_means(found, n_novel=given, seed=0)
    assert len(grouping(found, first, n_novel=given).table) - 6 == (given or 3)


def test_without_images_there_is_no_group():
    found, _ = pool(range(6))
    empty = found.rows(np.zeros(0, dtype=np.int64))
    assert len(first_means(empty, n_novel=None, seed=0)) == 0
