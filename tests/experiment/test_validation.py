"""The validation part of session 0 is a problem of the same kind, and nothing of a session is in it."""

import numpy as np
import pytest

from metagcd.data import load
from metagcd.errors import InputError
from metagcd.experiment.presets import load_preset
from metagcd.experiment.validation import validation_problem
from metagcd.protocol import split


@pytest.fixture(scope="module")
def digits():
    config = load_preset("frozen-digits")
    data = load(config.source)
    return config, data, split(data.train_labels, data.test_labels, config.protocol, 0)


def drawn(digits, **how):
    config, part = validation_problem(*digits, **how)
    return part, split(part.train_labels, part.test_labels, config.protocol, config.split_seed)


def test_its_images_are_those_of_session_0_each_once(digits):
    _, data, protocol = digits
    part, _ = drawn(digits)
    found = np.concatenate([part.train.read(np.arange(len(part.train))), part.test.read(np.arange(len(part.test)))])
    wanted = data.train.read(protocol.offline)
    order = [np.lexsort(images.reshape(len(images), -1).T) for images in (found, wanted)]
    np.testing.assert_array_equal(found[order[0]], wanted[order[1]])


def test_its_sessions_are_as_many_as_the_real_ones_in_the_proportion_of_the_paper(digits):
    _, protocol = drawn(digits)
    assert protocol.known == (0, 1, 2, 3)
    assert [session.novel for session in protocol.sessions] == [(4,), (5,), (6,)]


def test_sessions_and_the_order_of_classes_can_be_chosen(digits):
    _, protocol = drawn(digits, novel=(1, 2), turn=9)
    assert protocol.known == (2, 3, 4, 5)
    assert [session.novel for session in protocol.sessions] == [(6,), (0, 1)]


def test_a_whole_turn_changes_nothing(digits):
    assert drawn(digits, turn=7)[1].digest == drawn(digits)[1].digest


@pytest.mark.parametrize("novel", [(3, 4), (1, 0), (8,)])
def test_sessions_without_classes_and_a_start_without_any_are_refused(digits, novel):
    with pytest.raises(InputError, match="too few"):
        validation_problem(*digits, novel=novel)
