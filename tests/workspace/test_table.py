import numpy as np
import pytest
from workspace import streams
from workspace.streams import ids

from metagcd.errors import InputError
from metagcd.workspace.table import refined, table_of


def test_means_and_spreads_are_those_of_a_loop():
    features, labels = streams.images(range(3), 5, seed=0)
    table = table_of(features, labels, ids(3))
    for place in range(3):
        own = features[labels == place].astype(np.float64)
        mean = sum(own) / len(own)
        variance = sum(((image - mean) ** 2).sum() for image in own) / (len(own) - 1)
        np.testing.assert_allclose(table.means[place], mean, atol=1e-6)
        np.testing.assert_allclose(table.spreads[place], variance**0.5, rtol=1e-5)
    assert table.counts.tolist() == [5, 5, 5]
    assert table.known.all()


def test_a_class_with_one_image_has_the_spread_of_the_others():
    features, labels = streams.images(range(2), 5, seed=0)
    table = table_of(np.concatenate([features, features[:1]]), np.append(labels, 2), ids(3))
    pooled = (table.spreads[:2] ** 2 * 4).sum() / 8
    np.testing.assert_allclose(table.spreads[2] ** 2, pooled)


def test_classes_of_one_image_each_have_no_spread():
    table = table_of(streams.centres()[:3], np.arange(3), ids(3))
    assert table.spreads.tolist() == [0, 0, 0]


def test_a_class_without_an_image_is_named():
    with pytest.raises(InputError, match="none of class 1"):
        table_of(streams.centres()[:1], np.zeros(1, dtype=np.int64), ids(2))


def test_images_that_are_not_sure_change_nothing():
    table, _ = streams.taught(3)
    features, truth = streams.images(range(3), 4, seed=5)
    assert refined(table, features, truth, np.zeros(len(truth), dtype=np.bool_), narrowing=1.0) is table


def test_means_move_to_the_running_mean_of_sure_images():
    features, labels = streams.images(range(2), 20, seed=0)
    fresh, truth = streams.images(range(2), 10, seed=1)
    table = refined(
        table_of(features, labels, ids(2)), fresh, truth, np.ones(len(truth), dtype=np.bool_), narrowing=1.0
    )
    whole = table_of(np.concatenate([features, fresh]), np.concatenate([labels, truth]), ids(2))
    np.testing.assert_allclose(table.means, whole.means, atol=1e-6)
    np.testing.assert_allclose(table.spreads, whole.spreads, rtol=0.05)
    assert table.counts.tolist() == [30, 30]


def test_no_batch_moves_a_class_more_than_half_of_the_way():
    table, _ = streams.taught(2, each=10)
    poison = np.repeat(streams.centres()[[5]], 5000, axis=0)
    places = np.zeros(len(poison), dtype=np.int64)
    moved = refined(table, poison, places, np.ones(len(poison), dtype=np.bool_), narrowing=1.0)
    np.testing.assert_allclose(moved.means[0], (table.means[0] + poison[0]) / 2, atol=1e-5)
    np.testing.assert_array_equal(moved.means[1], table.means[1])
