import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

from metagcd.cluster.ward import merge_costs, pair_costs


def scattered(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def squares_about_mean(points, weights):
    mean = (points * weights[:, None]).sum(0) / weights.sum()
    return float((((points - mean) ** 2).sum(1) * weights).sum())


def by_trying_every_pair(points, weights, apart):
    groups = [[place] for place in range(len(points))]
    paid = []
    while len(groups) > max(apart, 1):
        choices = []
        for i in range(len(groups)):
            for j in range(i + 1, len(groups)):
                if min(groups[i]) < apart and min(groups[j]) < apart:
                    continue
                both, one, two = groups[i] + groups[j], groups[i], groups[j]
                price = squares_about_mean(points[both], weights[both])
                price -= squares_about_mean(points[one], weights[one]) + squares_about_mean(points[two], weights[two])
                choices.append((price, i, j))
        price, i, j = min(choices)
        paid.append(price)
        groups[i] = groups[i] + groups.pop(j)
    return sorted(paid, reverse=True)


@given(seed=st.integers(0, 10_000), apart=st.integers(0, 4))
def test_costs_are_those_of_trying_every_pair(seed, apart):
    points = scattered(9, 2, seed)
    weights = np.random.default_rng(seed).integers(1, 6, size=9).astype(float)
    np.testing.assert_allclose(
        merge_costs(points, weights, apart=apart), by_trying_every_pair(points, weights, apart), atol=1e-9
    )


def test_equal_weights_give_the_costs_of_scipy():
    points = scattered(120, 5)
    expected = np.sort(linkage(points, "ward")[:, 2] ** 2 / 2)[::-1]
    np.testing.assert_allclose(merge_costs(points), expected, atol=1e-9)
    np.testing.assert_allclose(merge_costs(points, np.full(120, 3.0)), 3 * expected, atol=1e-9)


def test_all_merges_together_cost_the_sum_of_squares():
    points = scattered()
    assert merge_costs(points).sum() == pytest.approx(squares_about_mean(points, np.ones(40)))


def test_a_weighted_point_stands_for_so_many_in_one_place():
    points = scattered(6)
    weights = np.array([3.0, 1, 1, 2, 1, 1])
    repeated = merge_costs(np.repeat(points, weights.astype(int), axis=0))
    np.testing.assert_allclose(merge_costs(points, weights), repeated[:5], atol=1e-9)


def test_points_that_stay_apart_end_as_one_group_each():
    assert len(merge_costs(scattered(10), apart=4)) == 6
    assert len(merge_costs(scattered(4), apart=4)) == 0


def test_one_point_has_nothing_to_merge_with():
    assert len(merge_costs(scattered(1))) == 0


def test_a_pair_costs_its_squared_distance_times_half_the_harmonic_mean():
    cost = pair_costs(np.array([[0.0], [3.0]]), np.array([2.0, 6.0]))
    assert cost[0, 1] == pytest.approx(9 * 12 / 8)
