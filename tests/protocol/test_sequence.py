from dataclasses import replace

import numpy as np
import pytest

from metagcd.protocol import Protocol, ProtocolSpec, Session


def rows(*numbers):
    return np.array(numbers, dtype=np.int64)


SESSION = Session(train=rows(2, 3), test=rows(0, 1), known=(4,), novel=(6,))
PROTOCOL = Protocol(
    spec=ProtocolSpec(known=1, novel=(1,)),
    seed=0,
    offline=rows(0, 1),
    offline_test=rows(0),
    known=(4,),
    sessions=(SESSION,),
)


def test_the_class_order_is_that_in_which_classes_are_met():
    assert PROTOCOL.class_order == (4, 6)


def test_the_digest_is_a_hexadecimal_name_of_ten_digits_or_more():
    assert len(PROTOCOL.digest) >= 10
    int(PROTOCOL.digest, 16)


def test_the_digest_is_the_same_on_every_machine():
    # Origin: the first run of this code; a change means that old manifests are refused.
    assert PROTOCOL.digest == "cb838a84ca1108ce"


def test_the_digest_knows_nothing_of_specification_and_seed():
    other = replace(PROTOCOL, spec=ProtocolSpec(known=1, novel=(1,), unit="class"), seed=5)
    assert other.digest == PROTOCOL.digest


@pytest.mark.parametrize(
    "changed",
    [
        replace(PROTOCOL, offline=rows(0, 4)),
        replace(PROTOCOL, offline=rows(0), offline_test=rows(1, 0)),
        replace(PROTOCOL, offline_test=rows(1)),
        replace(PROTOCOL, known=(5,)),
        replace(PROTOCOL, sessions=()),
        replace(PROTOCOL, sessions=(replace(SESSION, train=rows(2, 4)),)),
        replace(PROTOCOL, sessions=(replace(SESSION, train=rows(2), test=rows(3, 0, 1)),)),
        replace(PROTOCOL, sessions=(replace(SESSION, test=rows(0, 2)),)),
        replace(PROTOCOL, sessions=(replace(SESSION, known=(5,)),)),
        replace(PROTOCOL, sessions=(replace(SESSION, novel=(5,)),)),
        replace(PROTOCOL, sessions=(SESSION, SESSION)),
    ],
)
def test_every_row_and_class_id_enters_the_digest(changed):
    assert changed.digest != PROTOCOL.digest
