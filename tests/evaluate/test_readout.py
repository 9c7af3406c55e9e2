import numpy as np

from metagcd.evaluate import clustering_accuracy, kmeans_readout, readings


def test_the_readout_finds_separated_classes():
    rng = np.random.default_rng(0)
    truth = rng.integers(6, size=300)
    features = (np.eye(6)[truth] * 5 + rng.normal(size=(300, 6)) * 0.3).astype(np.float32)
    predicted = kmeans_readout(features, 6, seed=0, restarts=3)
    assert clustering_accuracy(truth, predicted, range(4)).all == 100
    assert (kmeans_readout(features, 6, seed=0, restarts=3) == predicted).all()


def test_both_partitions_are_read_under_every_assignment():
    truth = np.array([0, 0, 1, 1, 2, 2])
    predicted = np.array([0, 0, 1, 1, 1, 2])
    found = readings(truth, predicted, initial=[0], previous=[0, 1], assignments=("global", "split"))
    assert [(one.partition, one.assignment) for one in found] == [
        ("initial", "global"),
        ("initial", "split"),
        ("previous", "global"),
        ("previous", "split"),
    ]
    assert (found[0].accuracy.old, found[0].accuracy.new) == (100.0, 75.0)
    assert (found[2].accuracy.old, found[2].accuracy.new) == (100.0, 50.0)
    assert found[2].accuracy == clustering_accuracy(truth, predicted, [0, 1])
