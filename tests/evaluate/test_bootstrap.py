import math

import numpy as np
import pytest

from metagcd.errors import InputError
from metagcd.evaluate import bootstrap


def test_the_interval_covers_the_true_rate_about_as_often_as_asked():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        right = rng.random(300) < 0.7
        found = bootstrap(lambda rows, right=right: float(right[rows].mean()), 300, seed=seed, draws=200)
        covered += found.low <= 0.7 <= found.high
    assert 0.88 <= covered / 200 <= 0.99


def test_the_value_is_that_of_the_rows_as_they_are_and_lies_inside():
    values = np.arange(50.0)
    found = bootstrap(lambda rows: float(values[rows].mean()), 50, seed=1)
    assert found.value == values.mean()
    assert found.low < found.value < found.high


def test_more_confidence_is_a_wider_interval_and_the_seed_fixes_it():
    values = np.random.default_rng(0).normal(size=80)

    def mean(rows):
        return float(values[rows].mean())

    narrow, wide = bootstrap(mean, 80, seed=0, confidence=0.5), bootstrap(mean, 80, seed=0, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert bootstrap(mean, 80, seed=0, confidence=0.5) == narrow


def test_draws_without_a_value_are_left_out():
    one = np.array([True, False, False])
    found = bootstrap(lambda rows: 5.0 if one[rows].any() else float("nan"), 3, seed=0)
    assert (found.low, found.high) == (5.0, 5.0)
    assert math.isnan(bootstrap(lambda _: float("nan"), 3, seed=0).value)


def test_impossible_requests_are_refused():
    for n, draws, confidence in ((0, 10, 0.9), (5, 0, 0.9), (5, 10, 1.0)):
        with pytest.raises(InputError, match="bootstrap needs"):
            bootstrap(lambda _: 0.0, n, seed=0, draws=draws, confidence=confidence)
