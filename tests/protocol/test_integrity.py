from dataclasses import replace

import numpy as np
import pytest
from protocol.cases import repeated

from metagcd.errors import InputError
from metagcd.protocol import ProtocolSpec, check, split

LABELS, TEST = repeated([50] * 6), repeated([5] * 6)
PROTOCOL = split(LABELS, TEST, ProtocolSpec(known=3, novel=(1, 1), novel_images=(20,), known_images=(16,)), 0)
FIRST, SECOND = PROTOCOL.sessions
UNUSED = np.setdiff1d(np.arange(300), np.concatenate([PROTOCOL.offline, FIRST.train, SECOND.train]))


def with_first(**changes):
    return replace(PROTOCOL, sessions=(replace(FIRST, **changes), SECOND))


def with_second(**changes):
    return replace(PROTOCOL, sessions=(FIRST, replace(SECOND, **changes)))


def of_class(label):
    return UNUSED[LABELS[UNUSED] == label]


def test_a_sound_protocol_passes_with_and_without_labels():
    check(PROTOCOL)
    check(PROTOCOL, LABELS, TEST)


@pytest.mark.parametrize(
    ("broken", "violation"),
    [
        (with_second(novel=(3,)), "new more than once"),
        (replace(PROTOCOL, known=(0, 1)), "known classes are not as many"),
        (replace(PROTOCOL, sessions=(FIRST,)), "new classes are not as many"),
        (with_second(known=(0, 1, 2)), "not those met before it"),
        (with_first(train=FIRST.train[:0]), "holds no image"),
        (with_first(train=np.append(FIRST.train, -1)), "a row below 0"),
        (with_first(train=np.append(FIRST.train, FIRST.train[0])), "holds an image twice"),
        (with_second(train=np.append(SECOND.train, PROTOCOL.offline[0])), "image of session 0 comes again"),
        (with_second(train=np.append(SECOND.train, FIRST.train[0])), "used in two sessions"),
        (with_first(test=np.append(FIRST.test, FIRST.test[0])), "test part holds an image twice"),
        (with_first(test=PROTOCOL.offline_test[1:]), "lacks images of an earlier one"),
    ],
)
def test_a_violation_is_found_without_labels(broken, violation):
    with pytest.raises(InputError, match=violation):
        check(broken)


@pytest.mark.parametrize(
    ("broken", "violation"),
    [
        (with_first(train=np.append(FIRST.train, 300)), "names row 300, and there are 300 training images"),
        (with_first(train=np.append(FIRST.train, of_class(5)[0])), "images of a class that is not in it"),
        (replace(PROTOCOL, offline=np.append(PROTOCOL.offline, of_class(4)[0])), "images of a class that is not in it"),
        (with_first(train=FIRST.train[LABELS[FIRST.train] != 3]), "a new class has no image in its session"),
        (with_second(test=FIRST.test), "not that of the classes met so far"),
        (with_second(test=np.append(SECOND.test, 1000)), "not that of the classes met so far"),
    ],
)
def test_a_violation_that_only_labels_show_is_found_with_them(broken, violation):
    check(broken)
    with pytest.raises(InputError, match=violation):
        check(broken, LABELS, TEST)


def test_images_may_come_again_only_where_the_specification_says_so():
    again = with_second(train=np.append(SECOND.train, FIRST.train[0]))
    check(replace(again, spec=replace(PROTOCOL.spec, redraw=True)), LABELS, TEST)
