from dataclasses import replace

import numpy as np
from workspace import streams

from metagcd.workspace.rehearsal import (
    GRID,
    MOST_CLASSES,
    Taught,
    balanced,
    rehearsal,
    rehearsed,
    some_classes,
    sorted_right,
)


def taught(classes=8, each=20):
    return Taught(*streams.images(range(classes), each, seed=0), *streams.images(range(classes), 10, seed=1))


def test_hidden_classes_are_in_no_table_and_the_known_ones_show_held_out_images():
    _, judge = streams.taught()
    session = rehearsal(judge, taught(), np.random.default_rng(0), 2)
    assert len(session.pool.table) == 6
    assert set(session.truth.tolist()) == set(range(8))
    trained = {image.tobytes() for image in taught().features}
    shown = session.pool.features
    assert not any(shown[row].tobytes() in trained for row in np.flatnonzero(session.truth < 6))


def test_a_session_sorted_without_a_fault_is_wholly_right():
    _, judge = streams.taught()
    session = rehearsal(judge, taught(), np.random.default_rng(0), 2)
    assert sorted_right(session, judge) > 0.97
    assert sorted_right(session, replace(judge, apart=1e6)) < 0.8


def test_thresholds_are_among_those_tried():
    _, judge = streams.taught()
    found = rehearsed(judge, taught(), seed=0)
    for name, values in GRID.items():
        assert getattr(found, name) in values


def test_too_few_classes_leave_the_judge_as_it_is():
    _, judge = streams.taught()
    assert rehearsed(judge, taught(3), seed=0) is judge


def test_known_images_all_stay_and_hidden_classes_are_cut_to_twice_their_number():
    truth = np.repeat([0, 1, 2], [8, 12, 50])
    rows = balanced(truth, 2, np.random.default_rng(0))
    assert np.bincount(truth[rows]).tolist() == [8, 12, 20]


def test_no_more_classes_take_part_than_is_needed():
    labels = np.arange(MOST_CLASSES + 50)
    features = np.zeros((len(labels), 2), dtype=np.float32)
    part = some_classes(Taught(features, labels, features, labels), np.random.default_rng(0))
    assert sorted(part.labels.tolist()) == list(range(MOST_CLASSES))
    assert sorted(part.held_out_labels.tolist()) == list(range(MOST_CLASSES))
