import numpy as np
import pytest
import torch

from metagcd.cluster import semi_supervised_kmeans
from metagcd.errors import InputError
from metagcd.methods.readout import NOTHING, Statistics, grouped, taken


def blobs(centres, each, spread=0.05, seed=0):
    """Unit rows around unit centres, and the number of the centre of each."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(centres)), each)
    points = np.asarray(centres, dtype=np.float64)[labels] + spread * rng.normal(size=(len(labels), len(centres[0])))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), labels


CENTRES = np.eye(5)


def test_statistics_are_the_mean_and_number_of_every_class_in_ascending_order():
    features, labels = blobs(CENTRES[:3], 4)
    kept = taken(features, labels * 10)
    for place in range(3):
        np.testing.assert_allclose(kept.means[place], features[labels == place].mean(0), atol=1e-6)
    assert kept.counts.tolist() == [4, 4, 4]


def test_statistics_can_be_taken_of_the_first_classes_alone():
    kept = taken(*blobs(CENTRES[:3], 4)).first(2)
    assert kept.means.shape == (2, 5)
    assert kept.counts.tolist() == [4, 4]


def test_means_and_counts_pin_known_classes_as_the_images_themselves_would():
    features, labels = blobs(CENTRES, 30, spread=0.25, seed=1)
    pinned = labels < 2
    pinned[::2] = False
    known_labels = np.where(pinned, labels, -1)
    whole = semi_supervised_kmeans(features, 5, known_labels=known_labels, seed=0)
    found = grouped(features[~pinned], taken(features[pinned], labels[pinned]), 5, seed=0, restarts=10)
    same = np.asarray(found.labels)[:, None] == np.asarray(found.labels)
    expected = whole.labels[~pinned][:, None] == whole.labels[~pinned]
    assert (same == expected).mean() > 0.99
    np.testing.assert_array_equal(np.asarray(found.labels) == 1, whole.labels[~pinned] == 1)


def test_groups_of_known_classes_come_first_in_their_order():
    features, labels = blobs(CENTRES, 20)
    known = taken(features[labels < 3], labels[labels < 3])
    found = np.asarray(grouped(features, known, 5, seed=0, restarts=3).labels)
    np.testing.assert_array_equal(found[labels < 3], labels[labels < 3])
    assert set(found[labels >= 3].tolist()) == {3, 4}


def test_novel_classes_are_found_beside_the_known_ones_and_classify_by_the_nearest_mean():
    features, labels = blobs(CENTRES, 20)
    known = taken(features[labels < 3], labels[labels < 3])
    joined = known.joined(features, 2, seed=0, restarts=3)
    torch.testing.assert_close(joined.means[:3], known.means)
    assert joined.counts.tolist() == [20, 20, 20, 20, 20]
    fresh, truth = blobs(CENTRES, 7, seed=3)
    predicted = joined.classify(fresh)
    np.testing.assert_array_equal(predicted[truth < 3], truth[truth < 3])
    assert len(np.unique(predicted[truth >= 3])) == 2


def test_a_session_without_novel_classes_leaves_the_statistics_as_they_are():
    features, labels = blobs(CENTRES, 5)
    known = taken(features, labels)
    assert known.joined(features, 0, seed=0, restarts=1) is known


def test_means_move_with_the_images_around_them():
    before, labels = blobs(CENTRES[:2], 20)
    shift = np.array([[0, 0, 0.5, 0, 0], [0, 0, 0, 0.3, 0]], dtype=np.float32)
    moved = taken(before, labels).moved(before, before + shift[labels])
    np.testing.assert_allclose(moved.means, taken(before + shift[labels], labels).means, atol=1e-3)
    assert moved.counts.tolist() == [20, 20]


def test_no_images_have_no_class():
    assert taken(*blobs(CENTRES, 2)).classify(np.zeros((0, 5), dtype=np.float32)).shape == (0,)
    assert NOTHING.counts.shape == (0,)


@pytest.mark.parametrize("k", [1, 9])
def test_more_or_fewer_classes_than_can_be_are_refused(k):
    known = Statistics(torch.eye(3, 5)[:2], torch.ones(2, dtype=torch.int64))
    with pytest.raises(InputError, match=f"Cannot find {k} classes"):
        grouped(np.eye(3, 5, dtype=np.float32), known, k, seed=0, restarts=1)
