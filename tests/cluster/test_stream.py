import numpy as np
import pytest

from metagcd.cluster import kmeans, stream, streamed_kmeans
from metagcd.errors import InputError


def stored(path, n=6000, d=8, k=12):
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)
    x = ((rng.normal(size=(k, d)) * 6)[truth] + rng.normal(size=(n, d)) + 50).astype(np.float32)
    np.save(path, x)
    return np.load(path, mmap_mode="r"), truth


def test_a_file_read_in_blocks_gives_clusters_as_good_as_all_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "ROWS", 500)
    x, truth = stored(tmp_path / "features.npy")
    found = streamed_kmeans(x, 12, seed=0, restarts=4)
    assert found.inertia <= kmeans(np.array(x), 12, seed=0).inertia * 1.01
    table = ((np.array(x)[:, None] - found.centroids[None]).astype(np.float64) ** 2).sum(2)
    np.testing.assert_array_equal(found.labels, table.argmin(1))
    assert found.inertia == pytest.approx(table.min(1).sum(), rel=1e-4)
    assert all(len(set(truth[found.labels == j])) == 1 for j in range(12))


def test_a_pass_in_one_block_is_one_round_of_lloyd(tmp_path):
    x, _ = stored(tmp_path / "features.npy", n=2000)
    start = streamed_kmeans(x, 12, seed=0, passes=0)
    found = streamed_kmeans(x, 12, seed=0, passes=1)
    means = np.stack([x[start.labels == j].mean(0) for j in range(12)])
    np.testing.assert_allclose(found.centroids, means, atol=1e-3)


def test_no_block_is_larger_than_it_may_be(monkeypatch):
    sizes = []
    read = stream.read

    def watched(x, rows):
        block = read(x, rows)
        sizes.append(len(block))
        return block

    monkeypatch.setattr(stream, "ROWS", 300)
    monkeypatch.setattr(stream, "read", watched)
    x = np.random.default_rng(0).normal(size=(4000, 3)).astype(np.float32)
    streamed_kmeans(x, 4, seed=0, restarts=2)
    assert sizes[0] == 2048
    assert max(sizes[1:]) == 300
    assert sum(sizes[1:]) == 3 * 4000


def test_the_seed_fixes_the_result():
    x = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    one, two = streamed_kmeans(x, 5, seed=1, restarts=2), streamed_kmeans(x, 5, seed=1, restarts=2)
    np.testing.assert_array_equal(one.labels, two.labels)


def test_unusable_rows_are_named():
    x = np.zeros((30, 2))
    with pytest.raises(InputError, match="31 clusters in 30 rows"):
        streamed_kmeans(x, 31, seed=0)
    x[4] = np.nan
    with pytest.raises(InputError, match="1 of 30 rows"):
        streamed_kmeans(x, 2, seed=0)
