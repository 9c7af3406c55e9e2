from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.cluster.assignment import apply, contingency, match
from metagcd.errors import InputError

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40)


def most_right(truth: np.ndarray, predicted: np.ndarray) -> int:
    best = 0
    for order in permutations(range(6)):
        best = max(best, sum(order[cluster] == label for label, cluster in zip(truth, predicted, strict=True)))
    return best


@given(PAIRS)
def test_no_permutation_makes_more_points_right(pairs):
    truth, predicted = (np.array(part) for part in zip(*pairs, strict=True))
    assert (apply(match(truth, predicted), predicted) == truth).sum() == most_right(truth, predicted)


def test_ids_need_not_be_consecutive():
    assert match(np.array([70, 70, -3, -3]), np.array([5, 5, 900, 900])) == {5: 70, 900: -3}


def test_more_clusters_than_classes_leave_clusters_without_a_class():
    truth, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2])
    mapping = match(truth, predicted)
    assert mapping == {0: 0, 2: 1}
    assert apply(mapping, predicted).tolist() == [0, 0, -1, 1]


def test_fewer_clusters_than_classes_leave_classes_without_a_cluster():
    assert match(np.array([4, 4, 5]), np.array([0, 0, 0])) == {0: 4}


def test_contingency_counts_every_point_once():
    table, clusters, classes = contingency(np.array([1, 1, 2]), np.array([7, 8, 8]))
    assert table.tolist() == [[1, 0], [1, 1]]
    assert clusters.tolist() == [7, 8]
    assert classes.tolist() == [1, 2]


def test_no_points_have_no_map():
    none = np.array([], dtype=np.int64)
    assert match(none, none) == {}
    assert apply({}, none).tolist() == []


def test_unequal_lengths_are_refused_with_both_numbers():
    with pytest.raises(InputError, match="3 true classes but 2"):
        match(np.array([0, 1, 2]), np.array([0, 1]))
