import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol.cases import labelled_sets, repeated, shaped_like, spec_values

from metagcd.errors import InputError
from metagcd.protocol import ProtocolSpec, named_protocol, split

LABELS, TEST = repeated([50] * 10), repeated([5] * 10)
SPEC = ProtocolSpec(novel_images=(20,), known_images=(16,))


@given(labelled_sets(), spec_values(), st.integers(0, 5))
def test_every_random_protocol_keeps_what_is_guaranteed(sets, values, seed):
    spec = ProtocolSpec(**values)
    labels, test_labels = sets
    protocol = split(labels, test_labels, spec, seed)
    assert len(protocol.sessions) == len(spec.novel)
    assert set(labels[protocol.offline]) == set(protocol.known)
    used, met = set(protocol.offline), set(protocol.known)
    assert set(protocol.offline_test) == set(np.flatnonzero(np.isin(test_labels, list(met))))
    for session, novel in zip(protocol.sessions, spec.novel, strict=True):
        rows = set(session.train)
        assert len(rows) == len(session.train)
        assert not rows & (set(protocol.offline) if spec.redraw else used)
        assert (set(session.known), len(session.novel)) == (met, novel)
        met |= set(session.novel)
        assert set(labels[session.train]) >= set(session.novel)
        assert set(labels[session.train]) <= met
        assert set(session.test) == set(np.flatnonzero(np.isin(test_labels, list(met))))
        used |= rows


@given(labelled_sets(), spec_values(), st.integers(0, 5))
def test_sizes_are_those_asked_for_and_known_classes_all_come_where_counts_allow(sets, values, seed):
    spec = ProtocolSpec(**values)
    labels, test_labels = sets
    protocol = split(labels, test_labels, spec, seed)
    for place, session in enumerate(protocol.sessions):
        counts = np.bincount(labels[session.train], minlength=11)
        known, novel = counts[list(session.known)], counts[list(session.novel)]
        asked = spec.count("novel_images", place)
        if spec.unit == "session":
            assert novel.sum() == (asked if session.novel else 0)
            if not spec.discovered_images:
                total = spec.count("known_images", place)
                assert known.sum() == total
                assert known.max() - known.min() <= 1
                assert (known > 0).all() or total < len(session.known)
        else:
            assert (novel == asked).all()
            assert (counts[list(protocol.known)] == spec.count("known_images", place)).all()


@given(spec_values(), st.integers(0, 5))
def test_the_same_seed_gives_the_same_protocol_and_another_one_another(values, seed):
    spec = ProtocolSpec(**values)
    labels, test_labels = repeated([70] * 11), repeated([3] * 11)
    first, again = (split(labels, test_labels, spec, seed) for _ in range(2))
    assert first.digest == again.digest
    assert all((a.train == b.train).all() for a, b in zip(first.sessions, again.sessions, strict=True))
    assert split(labels, test_labels, spec, seed + 1).digest != first.digest


def test_a_protocol_is_the_same_on_every_platform():
    # Origin: the first run of this code; a change means that no published split can be drawn again.
    labels, test_labels = np.repeat(np.arange(10), 50), np.repeat(np.arange(10), 5)
    assert split(labels, test_labels, SPEC, 0).digest == "d126d2b50878bd22"


def test_small_integer_types_give_the_same_protocol():
    small = split(LABELS.astype(np.uint8), TEST.astype(np.int32), SPEC, 0)
    assert small.digest == split(LABELS, TEST, SPEC, 0).digest
    assert small.offline.dtype == small.sessions[0].train.dtype == np.int64


def test_batches_are_shuffled():
    labels = LABELS[split(LABELS, TEST, SPEC, 0).sessions[0].train]
    assert np.count_nonzero(np.diff(labels)) > 2 * len(np.unique(labels))


def test_class_ids_may_have_gaps():
    protocol = split(LABELS * 10 + 3, TEST * 10 + 3, SPEC, 0)
    assert protocol.class_order == tuple(range(3, 103, 10))


def test_classes_come_in_the_order_asked_for():
    natural = split(LABELS, TEST, ProtocolSpec(known=2, known_images=(6,), novel_images=(9,)), 0)
    assert natural.class_order == (0, 1, 2, 3, 4)
    order = (9, 4, 1, 0, 6, 2)
    given_ = split(LABELS, TEST, ProtocolSpec(known=2, known_images=(6,), novel_images=(9,), class_order=order), 0)
    assert given_.class_order == order[:5]
    assert given_.sessions[1].known == (9, 4, 1)
    assert given_.sessions[1].novel == (0,)


def test_a_seeded_order_differs_from_seed_to_seed():
    spec = ProtocolSpec(novel_images=(20,), known_images=(16,), class_order="seeded")
    orders = {split(LABELS, TEST, spec, seed).class_order for seed in range(4)}
    assert len(orders) == 4
    assert all(sorted(order) == list(range(10)) for order in orders)


def test_redrawn_sessions_may_share_images_and_still_differ():
    spec = ProtocolSpec(known=2, novel=(0, 0), unit="class", known_images=(8,), redraw=True)
    first, second = (set(session.train) for session in split(LABELS, TEST, spec, 0).sessions)
    assert first & second
    assert first != second


@pytest.mark.parametrize(
    ("labels", "test_labels", "message"),
    [
        (np.zeros(0, dtype=np.int64), TEST, "There are no training labels"),
        (LABELS, np.zeros(0, dtype=np.int64), "There are no test labels"),
        (LABELS - 1, TEST, "training labels must be 0 or more; got -1"),
        (LABELS.astype(np.float64), TEST, "training labels must be a row of integers; got float64"),
        (LABELS, TEST.reshape(5, 10), r"test labels must be a row of integers; got int64 of shape \(5, 10\)"),
        (LABELS % 6, TEST, "asks for 10 classes .* there are 6. Lower `known` or `novel`"),
        (LABELS, TEST % 9, "Class 9 has no test image"),
    ],
)
def test_labels_that_cannot_be_split_are_refused(labels, test_labels, message):
    with pytest.raises(InputError, match=message):
        split(labels, test_labels, SPEC, 0)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ((0, 1, 2, 2), "more than once"),
        ((0, 1, 12, 3), "names class 12, of which there is no training image"),
        ((0, 1), "asks for 3 classes"),
    ],
)
def test_a_class_order_that_does_not_fit_is_refused(order, message):
    with pytest.raises(InputError, match=message):
        split(
            LABELS, TEST, ProtocolSpec(known=2, novel=(1,), known_images=(4,), novel_images=(4,), class_order=order), 0
        )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["digits", "digits-long-tail", "digits-uneven", "digits-20-sessions"])
def test_whether_the_digits_fit_does_not_hang_on_the_seed(name, seed):
    assert split(*shaped_like(name), named_protocol(name), seed).digest
