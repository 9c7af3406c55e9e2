import torch

from metagcd.cluster.bounds import compare_all
from metagcd.cluster.lloyd import Anchor, Rule
from metagcd.cluster.swaps import improve, proposals, two_means

CENTRES = torch.tensor([[0.0, 0], [0, 20], [30, 0], [30, 20]]).double()


def groups(count=30):
    noise = torch.randn(4 * count, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return CENTRES.repeat_interleave(count, 0) + noise


def crowded():
    """Two centroids in one group, and one for two groups."""
    return torch.tensor([[-0.5, 0], [0.5, 0], [0, 20], [30, 10]]).double()


def compared(points, centroids):
    return compare_all(points, points.square().sum(1), centroids)


def test_a_centroid_moves_from_a_shared_group_to_a_missed_one():
    points = groups()
    stuck = improve(points, crowded(), Rule(), None, trials=0)
    freed = improve(points, crowded(), Rule(), None, trials=5)
    assert freed.inertia < 0.2 * stuck.inertia
    assert sorted(torch.as_tensor(freed.labels).bincount().tolist()) == [30, 30, 30, 30]


def test_the_group_that_holds_two_is_split_first_and_a_shared_one_dissolved():
    points = groups()
    split, dissolved, halves = proposals(points, compared(points, crowded()), crowded(), None)
    assert split.tolist() == [3]
    assert dissolved[0] in (0, 1)
    assert sorted(round(value) for value in halves[:, 3, 1].tolist()) == [0, 20]


def test_the_cluster_of_labelled_points_is_never_dissolved():
    points = groups()
    weight = torch.tensor([5.0, 0, 0, 0]).double()
    anchor = Anchor(crowded() * weight[:, None], weight)
    _, dissolved, _ = proposals(points, compared(points, crowded()), crowded(), anchor)
    assert dissolved[0] == 1


def test_the_gain_of_halving_is_the_fall_of_the_inertia():
    points = groups()
    gain, halves = two_means(points, compared(points, points.mean(0)[None]), points.mean(0)[None])
    before = (points - points.mean(0)).square().sum()
    after = torch.cdist(points, halves[:, 0]).square().amin(1).sum()
    torch.testing.assert_close(gain[0], before - after)


def test_a_good_solution_is_left_alone():
    found = improve(groups(), CENTRES, Rule(), None, trials=5)
    assert torch.as_tensor(found.labels).tolist() == [j for j in range(4) for _ in range(30)]
