import numpy as np

from metagcd.evaluate import accuracy_per_class, confusion


def test_confusion_puts_each_cluster_under_its_class_and_the_rest_last():
    truth = np.array([4, 4, 4, 6, 6, 6, 6])
    predicted = np.array([1, 1, 0, 2, 2, 2, 1])
    counts, classes, clusters = confusion(truth, predicted)
    assert classes.tolist() == [4, 6]
    assert clusters.tolist() == [1, 2, 0]
    assert counts.tolist() == [[2, 0, 1], [1, 3, 0]]


def test_confusion_counts_every_image_and_its_diagonal_is_what_is_right():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(5, size=200), rng.integers(5, size=200)
    counts, classes, _ = confusion(truth, predicted)
    assert counts.sum() == 200
    assert counts.sum(1).tolist() == np.bincount(truth).tolist()
    right = [accuracy_per_class(truth, predicted)[int(label)] * n / 100 for label, n in enumerate(np.bincount(truth))]
    np.testing.assert_allclose(np.diag(counts), right)
    assert len(classes) == 5


def test_accuracy_per_class_is_in_percent_under_one_map():
    truth, predicted = np.array([0, 0, 0, 1, 1, 2]), np.array([5, 5, 6, 6, 6, 6])
    scores = accuracy_per_class(truth, predicted)
    assert scores == {0: 200 / 3, 1: 100.0, 2: 0.0}
