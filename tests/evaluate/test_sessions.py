import math

import pytest

from metagcd.errors import InputError
from metagcd.evaluate import Accuracy, discovery, forgetting, session_average


def test_forgetting_is_the_largest_drop_after_session_0():
    assert forgetting([90.0, 85.0, 70.0, 75.0]) == 20.0
    assert forgetting([50.0, 60.0]) == 0.0
    assert forgetting([50.0]) == 0.0


def test_discovery_is_the_last_accuracy_on_novel_classes():
    assert discovery([30.0, 60.0, 45.0]) == 45.0


def test_averages_skip_sessions_without_such_images():
    nan = float("nan")
    mean = session_average([Accuracy(80.0, 80.0, nan), Accuracy(60.0, 70.0, 50.0)])
    assert mean == Accuracy(70.0, 75.0, 50.0)
    assert math.isnan(session_average([Accuracy(80.0, 80.0, nan)]).new)


def test_no_session_has_no_score():
    with pytest.raises(InputError, match="session 0"):
        forgetting([])
    with pytest.raises(InputError, match="one session"):
        discovery([])
