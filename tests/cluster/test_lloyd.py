from itertools import pairwise

import numpy as np
import pytest
import torch

from metagcd.cluster.bounds import compare_all, inertia, run_one
from metagcd.cluster.lloyd import Anchor, Rule, assign, cluster_sums, fill_empty, run_all, update


def plain_lloyd(points, centroids, rounds):
    centroids = [list(c) for c in centroids]
    for _ in range(rounds):
        labels = []
        for point in points:
            distances = [sum((a - b) ** 2 for a, b in zip(point, c, strict=True)) for c in centroids]
            labels.append(distances.index(min(distances)))
        for j in range(len(centroids)):
            members = [point for point, label in zip(points, labels, strict=True) if label == j]
            if members:
                centroids[j] = [sum(axis) / len(members) for axis in zip(*members, strict=True)]
    return np.array(centroids), np.array(labels)


def blobs(seed, n=120, d=3, k=4):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(k, d))[rng.integers(k, size=n)] * 2 + rng.normal(size=(n, d)))


@pytest.mark.parametrize("seed", range(4))
def test_both_forms_follow_loops_written_out_in_double_precision(seed):
    points = blobs(seed)
    start = points[:5].clone()
    rule = Rule(tolerance=0.0, rounds=60)
    centroids, labels = plain_lloyd(points.tolist(), start.tolist(), 60)
    together, cost, _ = run_all(points, torch.stack([start, start.flip(0)]), rule)
    alone, own, _ = run_one(points, start, rule)
    np.testing.assert_allclose(together[0].numpy(), centroids, atol=1e-9)
    np.testing.assert_allclose(alone.numpy(), centroids, atol=1e-9)
    np.testing.assert_array_equal(own.numpy(), labels)
    assert float(cost[0]) == pytest.approx(inertia(points, alone, own))
    torch.testing.assert_close(together[1].flip(0), together[0])


def test_the_distance_bounds_never_cost_a_label():
    rng = np.random.default_rng(3)
    points = torch.from_numpy(rng.normal(size=(2000, 5)))
    for rounds in (1, 2, 5, 20):
        centroids, labels, _ = run_one(points, points[:30].clone(), Rule(tolerance=0.0, rounds=rounds))
        assert torch.equal(labels, assign(points, centroids[None])[0][0])


def test_no_round_raises_the_inertia():
    points = blobs(7, n=300)
    costs = [
        inertia(points, *run_one(points, points[:6].clone(), Rule(tolerance=0.0, rounds=rounds))[:2])
        for rounds in range(1, 12)
    ]
    assert all(after <= before + 1e-9 for before, after in pairwise(costs))


def test_sums_are_those_of_the_members_also_of_an_empty_cluster():
    points = torch.arange(8.0).reshape(4, 2)
    sums, counts = cluster_sums(points, torch.tensor([[0, 2, 0, 2], [1, 1, 1, 1]]), 3)
    assert counts.tolist() == [[2, 0, 2], [0, 4, 0]]
    assert sums[0].tolist() == [[4, 6], [0, 0], [8, 10]]
    assert sums[1].tolist() == [[0, 0], [12, 16], [0, 0]]


def test_the_nearest_centroid_and_the_second_are_those_of_the_table_of_distances():
    points, centroids = blobs(1), blobs(2, n=7)
    table = torch.cdist(points, centroids)
    state = compare_all(points, points.square().sum(1), centroids)
    two = table.topk(2, largest=False)
    assert torch.equal(state.labels, two.indices[:, 0])
    torch.testing.assert_close(torch.stack([state.upper, state.lower], 1), two.values)


def test_an_empty_cluster_takes_the_farthest_point_of_a_cluster_that_can_spare_one():
    labels, squares = torch.tensor([0, 0, 0, 1]), torch.tensor([1.0, 3.0, 0.0, 9.0])
    filled = fill_empty(labels, squares, torch.tensor([3.0, 1.0, 0.0]))
    assert filled.tolist() == [0, 2, 0, 1]
    assert labels.tolist() == [0, 0, 0, 1]


def test_points_on_their_centroids_fill_no_cluster():
    labels = torch.zeros(3, dtype=torch.int64)
    assert fill_empty(labels, torch.zeros(3), torch.tensor([3.0, 0.0])).tolist() == [0, 0, 0]


def test_a_start_that_leaves_a_cluster_empty_ends_with_all_of_them_used():
    points = blobs(5)
    start = torch.cat([points[:2], points.new_full((2, 3), 1e3)])
    for labels in (
        run_one(points, start, Rule())[1],
        assign(points, run_all(points, start[None], Rule())[0])[0][0],
    ):
        assert labels.unique().tolist() == [0, 1, 2, 3]


def test_an_anchor_weighs_like_the_points_it_stands_for():
    free, held = blobs(1, n=40), blobs(2, n=10)
    labels = torch.arange(40) % 3
    anchor = Anchor(torch.stack([held.sum(0), held[0] * 0, held[0] * 0]), torch.tensor([10.0, 0, 0]).double())
    found = update(free, labels[None], torch.ones(1, 40).double(), torch.zeros(1, 3, 3).double(), Rule(), anchor)[0]
    torch.testing.assert_close(found[0], torch.cat([free[labels == 0], held]).mean(0))
    torch.testing.assert_close(found[1], free[labels == 1].mean(0))
    assert anchor.scaled(0.5).counts.tolist() == [5, 0, 0]
