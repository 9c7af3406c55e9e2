import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metagcd.cluster import kmeans, semi_supervised_kmeans
from metagcd.errors import InputError


def half_labelled(seed=0, separation=8.0, n=300, classes=6, known=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    x = (np.eye(classes)[truth] * separation + rng.normal(size=(n, classes))).astype(np.float32)
    return x, truth, np.where((truth < known) & (rng.random(n) < 0.5), truth * 10, -1)


@settings(max_examples=8)
@given(st.integers(0, 100), st.floats(0, 4), st.integers(3, 9))
def test_labelled_points_never_leave_the_cluster_of_their_class(seed, separation, k):
    x, _, known = half_labelled(seed, separation, n=80)
    found = semi_supervised_kmeans(x, k, known_labels=known, seed=seed, restarts=2)
    assert (found.labels[known >= 0] == known[known >= 0] // 10).all()
    assert set(found.labels) <= set(range(k))


def test_new_classes_get_the_clusters_after_the_known_ones():
    x, truth, known = half_labelled()
    found = semi_supervised_kmeans(x, 6, known_labels=known, seed=0)
    assert (found.labels[truth < 3] == truth[truth < 3]).all()
    assert {len(set(found.labels[truth == label])) for label in (3, 4, 5)} == {1}
    assert set(found.labels[truth >= 3]) == {3, 4, 5}


def test_centroids_are_the_means_of_labelled_and_unlabelled_points_and_all_count_in_the_inertia():
    x, _, known = half_labelled(separation=4.0)
    found = semi_supervised_kmeans(x, 6, known_labels=known, seed=0)
    means = np.stack([x[found.labels == j].mean(0) for j in range(6)])
    np.testing.assert_allclose(found.centroids, means, atol=0.05)
    expected = ((x.astype(np.float64) - found.centroids[found.labels]) ** 2).sum()
    assert found.inertia == pytest.approx(expected, rel=1e-5)


def test_without_labels_it_is_plain_kmeans():
    x, _, _ = half_labelled()
    found = semi_supervised_kmeans(x, 6, known_labels=np.full(300, -1), seed=0)
    np.testing.assert_array_equal(found.labels, kmeans(x, 6, seed=0).labels)


def test_with_every_point_labelled_the_centroids_are_the_class_means():
    x, truth, _ = half_labelled()
    found = semi_supervised_kmeans(torch.from_numpy(x), 6, known_labels=torch.from_numpy(truth), seed=0)
    assert found.labels.tolist() == truth.tolist()
    means = torch.stack([torch.from_numpy(x[truth == j]).mean(0) for j in range(6)])
    torch.testing.assert_close(found.centroids, means)


def test_spherical_centroids_have_length_one():
    x, _, known = half_labelled()
    found = semi_supervised_kmeans(x, 6, known_labels=known, seed=0, spherical=True)
    np.testing.assert_allclose(np.linalg.norm(found.centroids, axis=1), 1, atol=1e-6)
    assert (found.labels[known >= 0] == known[known >= 0] // 10).all()


def test_unusable_labels_are_named():
    x, truth, known = half_labelled()
    with pytest.raises(InputError, match="3 labelled classes; 2 clusters"):
        semi_supervised_kmeans(x, 2, known_labels=known, seed=0)
    with pytest.raises(InputError, match="one integer for each of the 300 rows"):
        semi_supervised_kmeans(x, 6, known_labels=known[:5], seed=0)
    with pytest.raises(InputError, match="1 new clusters in 0 unlabelled rows"):
        semi_supervised_kmeans(x, 7, known_labels=truth, seed=0)
