import math

import numpy as np
import pytest
from workspace import small

from metagcd.workspace.catalogue import reading
from metagcd.workspace.course import course


def moments(workspace):
    with reading(workspace.folder) as catalogue:
        return course(catalogue)


def test_while_nothing_is_trained_means_stay_near_those_of_the_fit(tmp_path):
    workspace = small.fitted(tmp_path)
    workspace.discover(small.batch(tmp_path / "one", {"ant": 10, "bee": 10}), n_novel=0)
    first, second = moments(workspace)
    assert (first.session, second.session) == (0, 1)
    assert first.kept == pytest.approx(1)
    assert 0.9 < second.kept <= 1 + 1e-9


def test_confidence_and_number_are_those_of_the_images_given_a_taught_class(tmp_path):
    workspace = small.fitted(tmp_path)
    workspace.discover(small.batch(tmp_path / "one", {"ant": 10, "bee": 10, "wasp": 10}), n_novel=1)
    moment = moments(workspace)[1]
    with reading(workspace.folder) as catalogue:
        known = {one.id for one in catalogue.classes() if one.known}
        found = [
            float(confidence)
            for block in catalogue.images(session=1)
            for one, verdict, confidence in zip(block.classes, block.verdicts, block.confidence, strict=True)
            if one in known and verdict == 0
        ]
    assert moment.recognised == len(found)
    assert moment.expected == pytest.approx(np.mean(found)) if found else math.isnan(moment.expected)


def test_the_distance_of_classes_is_the_one_written_out(tmp_path):
    workspace = small.fitted(tmp_path)
    states = workspace.classes().classes
    ratios = [
        min(float(np.linalg.norm(other.mean - one.mean)) for other in states if other is not one) / one.spread
        for one in states
    ]
    assert moments(workspace)[0].apart == pytest.approx(float(np.median(ratios)), rel=1e-5)
