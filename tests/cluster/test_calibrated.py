import numpy as np
import pytest

from metagcd.cluster import NumberOfClasses, Price, count_novel, estimate_classes, price_of
from metagcd.cluster.calibrated import PIECES, WIDTH, Sizes, counted, evened, narrowed, one_price, pieces, spread


def groups(counts, seed=0, d=8, distance=5.0):
    """Groups on axes of their own, so that every draw has the same distances."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(counts)), counts)
    centres = np.eye(len(counts), d) * distance
    return (centres[truth] + rng.normal(size=(len(truth), d)) * 0.5).astype(np.float32), truth


def known_part(x, truth, known):
    price = price_of(x[truth < known], truth[truth < known], seed=0)
    means = np.stack([x[truth == label].mean(0) for label in range(known)])
    return means, np.bincount(truth[truth < known]), price


def test_the_price_lies_between_merges_within_and_between_classes():
    x, truth = groups([30, 30, 30])
    price = one_price(x, truth)
    # Two groups of 30 at a squared distance of 50: 15 times that, but for the noise of the means.
    assert price.most == pytest.approx(15 * 50, rel=0.1)
    assert price.least < price.most / 10


def test_the_price_lies_between_its_ends_and_grows_with_the_size_of_a_class():
    price = Price(2.0, 8.0, 40.0)
    assert price.at(0.5, 40.0) == pytest.approx(4)
    assert price.at(1.0, 160.0) == pytest.approx(16)


@pytest.mark.parametrize("novel", [0, 1, 3])
def test_novel_classes_are_counted_beside_known_means_of_which_not_all_appear(novel):
    x, truth = groups([40] * 7)
    means, counts, price = known_part(x, truth, 4)
    session = np.isin(truth, [0, 2]) | ((truth >= 4) & (truth < 4 + novel))
    found = count_novel(x[session], means, counts, price, seed=1)
    assert found.k == novel
    assert found.low <= novel <= found.high


def test_a_session_of_a_known_class_alone_has_no_novel_class():
    x, truth = groups([40] * 4)
    means, counts, price = known_part(x, truth, 3)
    assert count_novel(x[truth == 1], means, counts, price, seed=0).k == 0


def test_one_known_class_is_enough():
    x, truth = groups([40] * 3)
    means, counts, price = known_part(x, truth, 1)
    assert count_novel(x, means, counts, price, seed=0).k == 2


def test_counting_is_fixed_by_the_seed_and_does_not_depend_on_the_scale():
    x, truth = groups([25] * 5, distance=2.0)
    known = np.where((truth < 3) & (np.arange(len(x)) % 2 == 0), truth, -1)
    found = estimate_classes(x, known_labels=known, low=3, high=10, seed=4)
    assert found == estimate_classes(x, known_labels=known, low=3, high=10, seed=4)
    assert found == estimate_classes(64 * x, known_labels=known, low=3, high=10, seed=4)


def test_answers_outside_the_range_count_as_its_ends():
    x, truth = groups([25] * 6)
    known = np.where((truth < 3) & (np.arange(len(x)) % 2 == 0), truth, -1)
    assert estimate_classes(x, known_labels=known, low=3, high=9, seed=0).k == 6
    assert estimate_classes(x, known_labels=known, low=3, high=4, seed=0).k == 4
    assert estimate_classes(x, known_labels=known, low=8, high=9, seed=0) == NumberOfClasses(8, 8, 8)


def test_merges_are_made_that_cost_less_than_the_price_at_the_size_they_leave():
    costs = np.array([50.0, 30.0, 5.0, 4.0])
    assert counted(costs, Sizes(100, 2, 1), Price(10.0, 10.0, 50.0), 0.5) == 3
    assert counted(costs, Sizes(100, 4, 4), Price(10.0, 10.0, 50.0), 0.5) == 6
    assert counted(np.empty(0), Sizes(5, 1, 1), Price(10.0, 10.0, 5.0), 0.5) == 1


def test_evened_space_has_less_uneven_spread_within_classes():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 500)
    x = rng.normal(size=(1000, 3)) * [8.0, 1.0, 1.0] + labels[:, None] * 5
    within = x @ evened(x, labels)
    spreads = np.linalg.svd(within[:500] - within[:500].mean(0))[1]
    assert 2 < spreads[0] / spreads[-1] < 4


def test_wide_rows_are_brought_to_their_principal_components():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)) @ rng.normal(size=(3, WIDTH + 20)) + 7
    narrow = narrowed(x.astype(np.float32))
    assert narrow.shape == (50, WIDTH)
    centred = x - x.mean(0)
    np.testing.assert_allclose(narrow @ narrow.T, centred @ centred.T, atol=1e-2)


def test_more_rows_than_can_be_merged_become_pieces_that_weigh_as_much():
    x = np.random.default_rng(0).normal(size=(PIECES + 500, 2))
    points, weights = pieces(x)
    assert len(points) <= PIECES
    assert weights.sum() == len(x)
    np.testing.assert_allclose((points * weights[:, None]).sum(0), x.sum(0), atol=1e-6)


def test_the_interval_holds_the_median_and_most_answers():
    assert spread([3] * 50) == NumberOfClasses(3, 3, 3)
    found = spread([1, *[4] * 40, 5, 5, 5, 5, 9])
    assert (found.low, found.k, found.high) == (4, 4, 5)
