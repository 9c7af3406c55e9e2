import pytest
import torch

from metagcd.cluster import seeding
from metagcd.cluster.seeding import Distances, nearest_square, plus_plus


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def corners():
    spread = torch.randn(200, 2, generator=generator(), dtype=torch.float64)
    return spread * 0.01 + torch.tensor([[0.0, 0], [0, 9], [9, 0], [9, 9]]).double().repeat(50, 1)


def test_every_separated_group_gets_a_centroid_under_every_restart():
    start = plus_plus(corners(), 4, restarts=8, generator=generator())
    places = (start > 4).long() @ torch.tensor([1, 2])
    assert places.sort(1).values.tolist() == [[0, 1, 2, 3]] * 8


def test_fixed_centroids_come_first_and_the_rest_avoid_them():
    fixed = torch.tensor([[0.0, 0], [9, 9]]).double()
    start = plus_plus(corners(), 4, restarts=5, generator=generator(), fixed=fixed)
    assert (start[:, :2] == fixed).all()
    assert {tuple(row) for row in start[:, 2:].round().abs().reshape(-1, 2).tolist()} == {(0.0, 9.0), (9.0, 0.0)}


def test_the_table_and_the_distances_at_need_choose_the_same(monkeypatch):
    points = torch.randn(60, 5, generator=generator(1), dtype=torch.float64)
    looked_up = plus_plus(points, 9, restarts=3, generator=generator(2))
    assert Distances(points, 100).table is not None
    monkeypatch.setattr(seeding, "TABLE", 0)
    assert Distances(points, 100).table is None
    assert torch.equal(plus_plus(points, 9, restarts=3, generator=generator(2)), looked_up)


def test_as_many_centroids_as_distinct_points_are_all_of_them():
    points = torch.randn(12, 3, generator=generator(), dtype=torch.float64)
    start = plus_plus(points, 12, restarts=2, generator=generator())
    for chosen in start:
        assert torch.equal(chosen[chosen[:, 0].argsort()], points[points[:, 0].argsort()])


def test_identical_points_can_all_be_chosen():
    start = plus_plus(torch.ones(5, 2), 3, restarts=2, generator=generator())
    assert torch.equal(start, torch.ones(2, 3, 2))


def test_the_nearest_square_is_that_of_the_table_of_distances():
    points, centroids = torch.randn(30, 4, generator=generator()), torch.randn(6, 4, generator=generator(1))
    expected = torch.cdist(points, centroids).square().amin(1)
    assert nearest_square(points, centroids).tolist() == pytest.approx(expected.tolist(), abs=1e-4)
