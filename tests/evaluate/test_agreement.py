import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from metagcd.evaluate import adjusted_rand_index, normalised_mutual_information

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=2, max_size=40)


@given(PAIRS)
def test_both_indices_equal_those_of_scikit_learn(pairs):
    truth, predicted = (np.array(part) for part in zip(*pairs, strict=True))
    expected = normalized_mutual_info_score(truth, predicted)
    assert normalised_mutual_information(truth, predicted) == pytest.approx(expected, abs=1e-9)
    assert adjusted_rand_index(truth, predicted) == pytest.approx(adjusted_rand_score(truth, predicted), abs=1e-9)


def test_the_same_partition_under_other_names_agrees_fully():
    truth = np.array([0, 0, 1, 2, 2])
    assert normalised_mutual_information(truth, 9 - truth) == pytest.approx(1)
    assert adjusted_rand_index(truth, 9 - truth) == pytest.approx(1)


def test_one_cluster_says_nothing_of_two_classes_and_all_of_one():
    assert normalised_mutual_information(np.array([0, 1]), np.array([3, 3])) == 0
    assert normalised_mutual_information(np.array([5, 5]), np.array([3, 3])) == 1
    assert adjusted_rand_index(np.array([5]), np.array([3])) == 1
