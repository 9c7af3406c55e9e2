import numpy as np
import pytest
import torch

from metagcd.workspace.separation import FLATNESS, clouds, flatness_of_classes, separation, variances


def two(gap, *, each=400, dim=20, seed=0):
    """Two spherical Gaussians of unit variance, so far apart along the first axis."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], each)
    x = rng.normal(size=(2 * each, dim))
    x[labels == 1, 0] += gap
    return torch.from_numpy(x), torch.from_numpy(labels)


@pytest.mark.parametrize("gap", [2.0, 4.0, 8.0])
def test_classes_lie_as_many_deviations_apart_as_they_were_put(gap):
    points, labels = two(gap)
    assert float(separation(clouds(points, labels, 2), flatness=0.22)[0, 1]) == pytest.approx(gap, rel=0.1)


def test_few_images_in_many_dimensions_do_not_seem_apart_by_chance():
    points, labels = two(0.0, each=10, dim=500)
    naive = (points[:10].mean(0) - points[10:].mean(0)).norm() / 1.0
    assert float(naive) > 8
    assert float(separation(clouds(points, labels, 2), flatness=0.05)[0, 1]) < 3


def test_halves_of_one_class_lie_less_apart_than_two_classes():
    points, _ = two(0.0)
    halves = (points[:, 0] > 0).long()
    assert float(separation(clouds(points, halves, 2), flatness=0.22)[0, 1]) == pytest.approx(2.65, rel=0.1)


def test_it_is_symmetric_and_does_not_change_with_scale_or_place():
    points, labels = two(3.0, each=30)
    plain = separation(clouds(points, labels, 2), flatness=0.22)
    moved = separation(clouds(7 * points + 3, labels, 2), flatness=0.22)
    torch.testing.assert_close(plain, plain.T)
    torch.testing.assert_close(moved, plain)
    assert torch.isinf(plain.diagonal()).all()


def test_the_variance_along_each_line_is_that_of_a_loop():
    points, labels = two(2.0, each=6, dim=4)
    groups = clouds(points, labels, 2)
    found, counts = variances(groups)
    for own, other in ((0, 1), (1, 0)):
        places = []
        for row in range(len(points)):
            if labels[row] == own:
                rest = [points[i] for i in range(len(points)) if labels[i] == own and i != row]
                axis = sum(rest) / len(rest) - groups.means[other]
                places.append(float((points[row] - groups.means[own]) @ axis))
        assert float(found[own, other]) == pytest.approx(np.var(places, ddof=1), rel=1e-6)
    assert counts.tolist() == [6, 6]


def test_groups_at_one_point_lie_no_way_apart():
    points = torch.ones(6, 3, dtype=torch.float64)
    found = separation(clouds(points, torch.tensor([0, 0, 0, 1, 1, 1]), 2), flatness=0.2)
    assert float(found[0, 1]) == 0


def test_flatness_is_one_over_the_root_of_the_dimensions_of_a_ball():
    points, labels = two(5.0, dim=25)
    assert flatness_of_classes(points.numpy(), labels.numpy(), seed=0) == pytest.approx(1 / 5, rel=0.1)


def test_without_two_classes_flatness_is_what_is_usual():
    points, labels = two(5.0)
    assert flatness_of_classes(points.numpy(), 0 * labels.numpy(), seed=0) == FLATNESS
