import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.errors import InputError
from metagcd.protocol import ProtocolSpec
from metagcd.protocol.plan import largest_remainder, make_plan, tail_weights
from metagcd.seeds import Seeds


def plan(spec, size=100):
    return make_plan(spec, tuple(range(spec.classes)), np.full(spec.classes, size), Seeds(0))


@given(st.integers(0, 500), st.lists(st.floats(0.01, 1), min_size=1, max_size=20), st.integers(0, 9))
def test_shares_add_up_and_are_within_one_of_the_exact_share(total, weights, seed):
    weights = np.array(weights)
    free = np.zeros(len(weights), dtype=np.int64)
    counts = largest_remainder(total, weights, free, np.random.default_rng(seed))
    assert counts.sum() == total
    assert (np.abs(counts - total * weights / weights.sum()) < 1 + 1e-9).all()


def test_what_is_left_over_goes_to_the_classes_with_the_most_free_images():
    free = np.array([3, 9, 4, 8])
    counts = largest_remainder(6, np.ones(4), free, np.random.default_rng(0))
    assert counts.tolist() == [1, 2, 1, 2]


def test_totals_are_shared_evenly_by_all_classes_met_before():
    counts = plan(ProtocolSpec(known=3, novel=(1, 1), novel_images=(9,), known_images=(12,)))
    assert counts.online.tolist() == [[4, 4, 4, 9, 0], [3, 3, 3, 3, 9]]
    assert counts.offline.tolist() == [80, 80, 80, 0, 0]


def test_discovered_classes_have_a_total_of_their_own_where_it_is_given():
    spec = ProtocolSpec(known=3, novel=(1, 1), novel_images=(9,), known_images=(12,), discovered_images=(5,))
    assert plan(spec).online.tolist() == [[4, 4, 4, 9, 0], [4, 4, 4, 5, 9]]


def test_counts_of_a_class_hold_for_every_class():
    spec = ProtocolSpec(known=2, novel=(1, 2), unit="class", novel_images=(9, 8), known_images=(3,))
    assert plan(spec).online.tolist() == [[3, 3, 9, 0, 0], [3, 3, 3, 8, 8]]


def test_a_session_without_new_classes_takes_no_new_images():
    spec = ProtocolSpec(known=2, novel=(0, 1), novel_images=(9,), known_images=(4,))
    assert plan(spec).online.tolist() == [[2, 2, 0], [2, 2, 9]]


def test_long_tails_run_from_the_full_size_down_by_the_imbalance():
    spec = ProtocolSpec(imbalance=10.0, unit="class", known_images=(5,), novel_images=(50,))
    weights = np.sort(tail_weights(spec, Seeds(3)))
    np.testing.assert_allclose(weights[[0, -1]], [0.1, 1])
    np.testing.assert_allclose(weights[1:] / weights[:-1], 10 ** (1 / 9))
    pool = np.sort(plan(spec, 200).pool)
    assert (pool[0], pool[-1]) == (20, 200)
    assert (plan(spec, 200).online[0, :8] >= 1).all()


def test_one_class_alone_has_no_tail():
    assert tail_weights(ProtocolSpec(known=1, novel=(0,), imbalance=5.0), Seeds(0)).tolist() == [1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"novel_images": (120,), "known_images": (8,)},
            r"Class 7 has 100 training images, but 121 are needed \(0 in session 0, 121 in the online sessions\)\. "
            "Lower `novel_images` or `known_images`",
        ),
        ({"known_images": (100,)}, "Class 0 has 100 .* Lower `known_images` or `labelled_fraction`"),
        ({"redraw": True, "novel_images": (101,)}, "Class 7 has 100 .*101 in one session"),
        (
            {"unit": "class", "known_images": (1,), "novel_images": (60,), "discovered_images": (30,)},
            "Class 7 has 100 training images, but 120 are needed .* or `discovered_images`",
        ),
        ({"known_images": (0,), "novel": (1, 0)}, "Session 2 would hold no image"),
        (
            {"known": 5, "novel": (3,), "novel_images": (2,)},
            "3 new classes, but `novel_images` gives 2 images: 1 classes",
        ),
        ({"labelled_fraction": 0.001}, "Class 0 has 100 training images; `labelled_fraction = 0.001`"),
    ],
)
def test_counts_that_do_not_fit_are_refused_naming_class_and_field(values, message):
    with pytest.raises(InputError, match=message):
        plan(ProtocolSpec(**values))


def test_a_class_that_exactly_suffices_is_accepted():
    spec = ProtocolSpec(known=1, novel=(1, 1), unit="class", novel_images=(90,), known_images=(10,))
    assert plan(spec).online.sum(axis=0).tolist() == [20, 100, 90]
