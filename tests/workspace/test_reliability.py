import numpy as np
import pytest

from metagcd.errors import InputError
from metagcd.workspace.reliability import BINS, reliability


def test_the_error_is_that_of_a_loop_over_bins():
    rng = np.random.default_rng(0)
    confidence, weights = rng.random(200), rng.random(200)
    right = rng.random(200) < confidence**2
    expected = 0.0
    for b in range(BINS):
        inside = [i for i in range(200) if b <= confidence[i] * BINS < b + 1]
        stated = sum(weights[i] * confidence[i] for i in inside)
        met = sum(weights[i] * right[i] for i in inside)
        expected += abs(stated - met) / sum(weights)
    assert reliability(confidence, right, weights).ece == pytest.approx(expected)


def test_confidences_that_come_true_have_no_error():
    confidence = np.repeat([0.25, 0.75], 4)
    right = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    found = reliability(confidence, right)
    assert found.ece == 0
    assert found.counts.sum() == 8
    np.testing.assert_allclose(found.accuracy[found.counts > 0], [0.25, 0.75])
    assert np.isnan(found.accuracy[found.counts == 0]).all()


def test_certainty_that_is_wrong_is_the_largest_error():
    assert reliability(np.ones(5), np.zeros(5, dtype=bool)).ece == 1


def test_nothing_stated_has_no_error_to_tell():
    assert np.isnan(reliability(np.zeros(0), np.zeros(0, dtype=bool)).ece)


def test_confidences_without_an_outcome_are_refused():
    with pytest.raises(InputError, match="3 confidences for 2 outcomes"):
        reliability(np.ones(3), np.ones(2, dtype=bool))
