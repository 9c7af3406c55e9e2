import numpy as np
import pytest

from metagcd.cluster import estimate_classes
from metagcd.cluster.number import NumberOfClasses, peak, silhouette
from metagcd.errors import InputError


def mixture(classes=6, n=150, d=12, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    x = (rng.normal(size=(classes, d)) * 4)[truth] + rng.normal(size=(n, d)) * spread
    known = np.where((truth < classes // 2) & (rng.random(n) < 0.5), truth, -1)
    return x.astype(np.float32), known


@pytest.mark.parametrize("method", ["calibrated", "labelled", "silhouette"])
def test_separated_classes_are_counted_by_every_method(method):
    x, known = mixture()
    found = estimate_classes(x, known_labels=known, low=4, high=8, seed=0, method=method)
    assert found.k == 6
    assert found.low <= 6 <= found.high


def test_without_labels_the_default_is_the_silhouette():
    x, _ = mixture(classes=5, n=100)
    found = estimate_classes(x, low=3, high=6, seed=0)
    assert found == estimate_classes(x, low=3, high=6, seed=0, method="silhouette")
    assert found.k == 5


def test_labels_say_how_fine_the_classes_are_cut():
    # Each class has two separate halves: the silhouette alone sees eight groups, the labels four classes.
    rng = np.random.default_rng(0)
    truth, half = rng.integers(4, size=160), rng.integers(2, size=160)
    centres = rng.normal(size=(4, 10)) * 6
    sides = rng.normal(size=(4, 10)) * 0.9
    x = (centres[truth] + sides[truth] * (2 * half - 1)[:, None] + rng.normal(size=(160, 10)) * 0.4).astype(np.float32)
    known = np.where(truth < 3, truth, -1)
    assert estimate_classes(x, known_labels=known, low=3, high=8, seed=0).k == 4


def test_the_interval_holds_the_estimate_and_the_seed_fixes_both():
    x, known = mixture(spread=3.0, n=90)
    found = estimate_classes(x, known_labels=known, low=4, high=7, seed=3)
    assert 4 <= found.low <= found.k <= found.high <= 7
    assert found == estimate_classes(x, known_labels=known, low=4, high=7, seed=3)


def test_a_range_of_one_number_is_that_number():
    x, _ = mixture(n=60)
    assert estimate_classes(x, low=3, high=3, seed=0) == NumberOfClasses(3, 3, 3)


def test_the_peak_of_a_single_peaked_score_is_found_without_trying_all():
    for top in (1, 37, 200, 371, 500):
        found = peak(lambda k, top=top: -abs(k - top), 1, 500)
        assert found.k == top
        assert len(found.tried) < 60


def test_the_smallest_of_equal_numbers_is_the_peak():
    assert peak(lambda _: 1.0, 2, 9).k == 2


def test_a_single_cluster_has_no_silhouette():
    x, _ = mixture(n=20)
    assert silhouette(x, np.zeros(20, dtype=np.int64), seed=0) == 0
    assert silhouette(x, np.arange(20), seed=0) == 0


def test_unusable_requests_are_named():
    x, known = mixture(n=50)
    for changes, words in (
        ({"low": 0}, "between 1 and the 50 rows; got 0 to 9"),
        ({"high": 51}, "got 2 to 51"),
        ({"high": 2}, "`high` = 2 is too small"),
        ({"known_labels": known[:9]}, "9 known labels for 50 rows"),
        ({"known_labels": None, "method": "labelled"}, "needs known labels"),
    ):
        with pytest.raises(InputError, match=words):
            estimate_classes(x, **{"known_labels": known, "low": 2, "high": 9, "seed": 0} | changes)
