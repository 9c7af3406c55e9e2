import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans as ScikitLearn

from metagcd.cluster import kmeans
from metagcd.cluster import kmeans as public
from metagcd.cluster.lloyd import Rule


def blobs(n, d, k, separation, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return ((rng.normal(size=(k, d)) * separation)[truth] + rng.normal(size=(n, d))).astype(np.float32), truth


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@pytest.mark.parametrize(
    ("n", "d", "k", "separation"), [(400, 8, 6, 1.0), (1500, 16, 20, 1.0), (1500, 32, 15, 0.5), (3000, 8, 30, 2.0)]
)
def test_inertia_is_within_a_fifth_of_a_percent_of_ten_full_runs(n, d, k, separation):
    x, _ = blobs(n, d, k, separation)
    theirs = ScikitLearn(k, n_init=10, random_state=0).fit(x).inertia_
    assert kmeans(x, k, seed=0).inertia <= theirs * 1.002


def test_exploring_on_a_sample_stays_within_a_fifth_of_a_percent():
    x, _ = blobs(6000, 8, 25, 1.5)
    theirs = ScikitLearn(25, n_init=10, random_state=0).fit(x).inertia_
    assert kmeans(x, 25, seed=1).inertia <= theirs * 1.002


def test_labels_centroids_and_inertia_belong_together():
    x, _ = blobs(2500, 6, 8, 1.0)
    found = kmeans(x, 8, seed=3, restarts=2)
    table = ((x[:, None].astype(np.float64) - found.centroids[None]) ** 2).sum(2)
    np.testing.assert_array_equal(found.labels, table.argmin(1))
    assert found.inertia == pytest.approx(table.min(1).sum(), rel=1e-5)
    means = np.stack([x[found.labels == j].mean(0) for j in range(8)])
    np.testing.assert_allclose(found.centroids, means, atol=0.05)
    assert found.rounds >= 1


def test_the_same_seed_gives_the_same_clusters_and_leaves_the_global_state():
    x, _ = blobs(3000, 6, 12, 0.5)
    state = torch.random.get_rng_state()
    one, two = kmeans(x, 12, seed=5), kmeans(x, 12, seed=5)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.centroids, two.centroids)
    assert torch.equal(state, torch.random.get_rng_state())


def test_arrays_give_arrays_and_tensors_give_tensors():
    x, _ = blobs(100, 3, 2, 2.0)
    array, tensor = kmeans(x, 2, seed=0), kmeans(torch.from_numpy(x), 2, seed=0)
    assert isinstance(array.labels, np.ndarray)
    assert isinstance(array.centroids, np.ndarray)
    assert isinstance(tensor.labels, torch.Tensor)
    np.testing.assert_array_equal(tensor.labels.numpy(), array.labels)


def test_the_input_is_not_written_to():
    x, _ = blobs(100, 3, 2, 2.0)
    before = x.copy()
    kmeans(x, 3, seed=0)
    public(x, 3, seed=0, spherical=True)
    np.testing.assert_array_equal(x, before)


def test_the_order_and_the_place_of_the_points_do_not_change_separated_clusters():
    x, truth = blobs(600, 5, 6, 20.0)
    order = np.random.default_rng(1).permutation(600)
    assert partition(kmeans(x, 6, seed=0).labels) == partition(truth)
    back = np.empty(600, dtype=np.int64)
    back[order] = kmeans(x[order], 6, seed=0).labels
    assert partition(back) == partition(truth)
    assert partition(kmeans(x + 1e3, 6, seed=0).labels) == partition(truth)


def test_as_many_clusters_as_points_have_no_inertia():
    x, _ = blobs(15, 4, 3, 1.0)
    found = kmeans(x, 15, seed=0)
    assert sorted(found.labels.tolist()) == list(range(15))
    assert found.inertia == pytest.approx(0, abs=1e-9)


def test_one_cluster_is_the_mean():
    x, _ = blobs(50, 4, 3, 1.0)
    found = kmeans(x, 1, seed=0)
    np.testing.assert_allclose(found.centroids[0], x.mean(0), atol=1e-5)
    assert found.inertia == pytest.approx(((x - x.mean(0)) ** 2).sum(), rel=1e-5)


def test_fewer_distinct_points_than_clusters_end_without_inertia():
    x = np.repeat(np.array([[0.0, 0], [5, 5], [9, 0]]), 10, axis=0)
    found = kmeans(x, 7, seed=0)
    assert found.inertia == pytest.approx(0, abs=1e-18)
    assert np.isfinite(found.centroids).all()
    assert {frozenset(np.flatnonzero((x == row).all(1)).tolist()) for row in np.unique(x, axis=0)} == partition(
        found.labels
    )


def test_identical_points_are_no_trouble():
    found = kmeans(np.full((20, 3), 7.0), 4, seed=0)
    assert found.inertia == 0
    np.testing.assert_allclose(found.centroids, 7.0)


def test_spherical_clusters_do_not_see_the_length_of_the_rows():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    x = (np.eye(3)[truth] + rng.normal(size=(300, 3)) * 0.05) * rng.uniform(0.1, 50, size=(300, 1))
    found = kmeans(x, 3, seed=0, spherical=True)
    assert partition(found.labels) == partition(truth)
    np.testing.assert_allclose(np.linalg.norm(found.centroids, axis=1), 1)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    assert found.inertia == pytest.approx((2 - 2 * (unit * found.centroids[found.labels]).sum(1)).sum())


def test_a_rule_bounds_the_rounds():
    x, _ = blobs(800, 4, 10, 0.1)
    assert kmeans(x, 10, seed=0, rule=Rule(rounds=2)).rounds <= 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_work_stays_on_the_device_of_the_points():
    x, truth = blobs(500, 5, 5, 20.0)
    found = kmeans(torch.from_numpy(x).cuda(), 5, seed=0)
    assert found.labels.is_cuda
    assert partition(found.labels.cpu().numpy()) == partition(truth)
