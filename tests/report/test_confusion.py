from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metagcd.report.confusion import confusion, summed
from metagcd.report.records import Answers


def answers(truth, predicted):
    return Answers(
        seed=0,
        session=1,
        readout="kmeans",
        truth=np.array(truth, dtype=np.int64),
        predicted=np.array(predicted, dtype=np.int64),
    )


def test_clusters_stand_in_the_order_of_the_classes_they_are_mapped_to():
    matrix = confusion(answers([0, 0, 0, 1, 1, 2], [7, 7, 5, 5, 5, 9]))
    assert matrix.counts.tolist() == [[2, 1, 0], [0, 2, 0], [0, 0, 1]]
    assert matrix.clusters == (7, 5, 9)
    assert matrix.accuracies.tolist() == [200 / 3, 100.0, 100.0]


def test_spare_clusters_follow_and_absent_ones_leave_empty_columns():
    assert confusion(answers([0, 0, 0], [4, 4, 6])).counts.tolist() == [[2, 1]]
    few = confusion(answers([0, 0, 1], [3, 3, 3]))
    assert few.counts.tolist() == [[2, 0], [1, 0]]
    assert few.clusters == (3, None)


def test_a_class_without_images_has_no_accuracy():
    matrix = confusion(answers([0, 2], [0, 1]))
    assert np.isnan(matrix.accuracies[1])
    assert matrix.shares.sum(axis=1).tolist() == [1.0, 0.0, 1.0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_no_other_map_makes_more_images_right(pairs):
    truth, predicted = map(list, zip(*pairs, strict=True))
    right = np.diagonal(confusion(answers(truth, predicted)).counts).sum()
    best = max(sum(order[p] == t for t, p in pairs) for order in permutations(range(4)))
    assert right == best


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=30))
def test_every_image_is_counted_once_in_its_class(pairs):
    truth, predicted = map(list, zip(*pairs, strict=True))
    counts = confusion(answers(truth, predicted)).counts
    assert counts.sum(axis=1).tolist() == np.bincount(truth).tolist()


def test_the_sum_over_seeds_keeps_spare_clusters_behind_the_classes():
    short = confusion(answers([0, 0], [1, 2]))
    long = confusion(answers([0, 1], [1, 0]))
    assert summed([short, long]).counts.tolist() == [[2, 0, 1], [0, 1, 0]]
    assert summed([short]).clusters == short.clusters
