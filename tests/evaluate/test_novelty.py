import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from metagcd.errors import InputError
from metagcd.evaluate import detection

SCORED = st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=2, max_size=60)


@given(SCORED)
def test_auroc_and_the_error_at_95_percent_equal_those_of_scikit_learn(pairs):
    novel, score = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs], dtype=float)
    if novel.all() or not novel.any():
        assert math.isnan(detection(novel, score).auroc)
        return
    found = detection(novel, score)
    assert found.auroc == pytest.approx(100 * roc_auc_score(novel, score))
    false, true, _ = roc_curve(novel, score, drop_intermediate=False)
    assert found.fpr95 == pytest.approx(100 * false[np.argmax(true >= 0.95 - 1e-12)])


def test_a_perfect_score_makes_no_error():
    found = detection(np.array([False, False, True]), np.array([0.1, 0.2, 0.9]))
    assert (found.auroc, found.fpr95) == (100.0, 0.0)


def test_without_known_or_without_novel_images_there_is_nothing_to_tell_apart():
    assert math.isnan(detection(np.array([True, True]), np.array([1.0, 2.0])).fpr95)
    assert math.isnan(detection(np.array([False]), np.array([1.0])).auroc)


def test_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="2 novelty scores for 1 images"):
        detection(np.array([True]), np.array([1.0, 2.0]))
