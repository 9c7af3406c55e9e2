import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.errors import InputError
from metagcd.evaluate import clustering_accuracy

CASES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)
ROTATED = np.array([0, 0, 0, 1, 1, 2, 2, 2])


def by_brute_force(truth, predicted, k=6):
    counts = [
        sum(order[cluster] == label for label, cluster in zip(truth, predicted, strict=True))
        for order in permutations(range(k))
    ]
    return 100 * max(counts) / len(truth)


def arrays(pairs):
    return tuple(np.array(part) for part in zip(*pairs, strict=True))


@given(CASES)
def test_all_equals_the_best_of_every_permutation(pairs):
    truth, predicted = arrays(pairs)
    assert clustering_accuracy(truth, predicted, [0]).all == pytest.approx(by_brute_force(truth, predicted))


@given(CASES, st.sets(st.integers(0, 5)))
def test_split_maps_equal_brute_force_in_each_part(pairs, old):
    truth, predicted = arrays(pairs)
    score = clustering_accuracy(truth, predicted, old, assignment="split")
    mask = np.isin(truth, list(old))
    for part, value in ((mask, score.old), (~mask, score.new)):
        if part.any():
            assert value == pytest.approx(by_brute_force(truth[part], predicted[part]))
        else:
            assert math.isnan(value)


@given(CASES, st.sets(st.integers(0, 5)))
def test_two_maps_never_score_below_one(pairs, old):
    truth, predicted = arrays(pairs)
    one = clustering_accuracy(truth, predicted, old)
    two = clustering_accuracy(truth, predicted, old, assignment="split")
    assert two.all >= one.all - 1e-9
    assert not two.old < one.old - 1e-9
    assert not two.new < one.new - 1e-9


@given(CASES, st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_names_of_clusters_do_not_matter_to_all(pairs, names, old):
    truth, predicted = arrays(pairs)
    renamed = np.array(names)[predicted]
    assert clustering_accuracy(truth, renamed, old).all == clustering_accuracy(truth, predicted, old).all


@given(CASES, st.sets(st.integers(0, 5)))
def test_all_is_the_mean_of_old_and_new_weighted_by_images(pairs, old):
    truth, predicted = arrays(pairs)
    score = clustering_accuracy(truth, predicted, old)
    share = np.isin(truth, list(old)).mean()
    assert score.all == pytest.approx(np.nansum([share * score.old, (1 - share) * score.new]))


def test_a_case_worked_by_hand():
    # Cluster 7 holds class 0 twice and class 2 three times; cluster 8 class 0 once; cluster 9 class 1 twice.
    predicted = np.array([7, 7, 8, 9, 9, 7, 7, 7])
    score = clustering_accuracy(ROTATED, predicted, [0, 1])
    assert (score.all, score.old, score.new) == (75.0, 60.0, 100.0)
    score = clustering_accuracy(ROTATED, predicted, [0, 1], assignment="split")
    assert (score.all, score.old, score.new) == (87.5, 80.0, 100.0)


def test_a_mask_and_the_ids_it_stands_for_give_the_same():
    predicted = np.array([0, 1, 0, 1, 1, 2, 2, 0])
    by_ids = clustering_accuracy(ROTATED, predicted, {2})
    assert clustering_accuracy(ROTATED, predicted, ROTATED == 2) == by_ids
    assert clustering_accuracy(ROTATED, predicted, (ROTATED == 2).tolist()) == by_ids
    assert clustering_accuracy(ROTATED, predicted, np.array([2])) == by_ids


def test_an_empty_part_is_not_a_number():
    assert math.isnan(clustering_accuracy(ROTATED, ROTATED, []).old)
    assert math.isnan(clustering_accuracy(ROTATED, ROTATED, range(3)).new)
    none = np.array([], dtype=np.int64)
    assert math.isnan(clustering_accuracy(none, none, [0]).all)


def test_a_cluster_without_a_class_is_wrong_whatever_ids_the_classes_have():
    truth = np.array([-1, -1, -1])
    assert clustering_accuracy(truth, np.array([0, 0, 1]), [-1]).all == pytest.approx(200 / 3)


def test_ten_thousand_images_of_two_hundred_classes_reach_the_truth_through_renamed_clusters():
    rng = np.random.default_rng(0)
    truth = rng.integers(200, size=10_000)
    score = clustering_accuracy(truth, rng.permutation(200)[truth], range(150))
    assert (score.all, score.old, score.new) == (100.0, 100.0, 100.0)


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(InputError, match="2 entries; there are 8 images"):
        clustering_accuracy(ROTATED, ROTATED, np.array([True, False]))


def test_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="8 true classes but 2"):
        clustering_accuracy(ROTATED, ROTATED[:2], [0], assignment="split")
