import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_rel

from metagcd.errors import InputError
from metagcd.evaluate import compare
from metagcd.evaluate.paired import sign_flip

FIRST = np.array([71.2, 70.4, 73.0, 69.9, 74.1])
SECOND = np.array([70.1, 70.9, 71.5, 68.0, 72.2])


def test_the_t_test_equals_that_of_scipy():
    found = compare(FIRST, SECOND)
    assert found.t_p_value == pytest.approx(ttest_rel(FIRST, SECOND).pvalue)
    assert found.difference == pytest.approx((FIRST - SECOND).mean())


def test_the_sign_flips_equal_all_patterns_written_out_and_those_of_scipy():
    difference = FIRST - SECOND
    patterns = [abs(sum(s * d for s, d in zip(signs, difference, strict=True))) for signs in product((-1, 1), repeat=5)]
    expected = np.mean([value >= abs(difference.sum()) - 1e-9 for value in patterns])
    assert compare(FIRST, SECOND).sign_flip_p_value == pytest.approx(expected)
    theirs = permutation_test((FIRST, SECOND), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=99)
    assert compare(FIRST, SECOND).sign_flip_p_value == pytest.approx(theirs.pvalue)


def test_many_pairs_are_drawn_and_come_near_the_t_test():
    rng = np.random.default_rng(0)
    difference = rng.normal(0.35, 1, size=40)
    expected = ttest_rel(difference, np.zeros(40)).pvalue
    assert sign_flip(difference, seed=1) == pytest.approx(expected, abs=0.01)
    assert sign_flip(difference, seed=1) == sign_flip(difference, seed=1)


def test_equal_scores_are_no_surprise():
    found = compare(FIRST, FIRST)
    assert found.sign_flip_p_value == 1
    assert math.isnan(found.t_p_value)
    assert math.isnan(compare(FIRST[:1], SECOND[:1]).t_p_value)


def test_unequal_numbers_of_scores_are_refused():
    with pytest.raises(InputError, match="equal numbers of scores"):
        compare(FIRST, SECOND[:3])
