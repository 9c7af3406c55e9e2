import json

import numpy as np
import pytest
from workspace import streams
from workspace.streams import ids

from metagcd.errors import InputError
from metagcd.evaluate import detection
from metagcd.workspace.judge import SURE, Judge, logit, sigmoid
from metagcd.workspace.judging import fit_judge
from metagcd.workspace.reliability import reliability
from metagcd.workspace.table import table_of
from metagcd.workspace.types import KNOWN, NEW, ClassTable


def test_known_and_new_images_are_told_apart():
    table, judge = streams.taught()
    features, truth = streams.images(range(9), 20, seed=9)
    scores = judge.look(features, table)
    novel = truth >= len(table)
    assert detection(novel, scores.novelty).auroc > 99
    assert (scores.verdict[~novel] == KNOWN).mean() > 0.9
    assert (scores.verdict[novel] == NEW).mean() > 0.9
    assert (scores.place[~novel] == truth[~novel]).mean() > 0.98


def test_probabilities_are_such():
    table, judge = streams.taught()
    scores = judge.look(streams.images(range(12), 5, seed=4)[0], table)
    for column in (scores.confidence, scores.novelty):
        assert ((column >= 0) & (column <= 1)).all()
    assert (scores.novelty[scores.verdict == NEW] >= SURE).all()


def test_images_are_judged_each_for_itself():
    table, judge = streams.taught()
    features, _ = streams.images(range(8), 5, seed=4)
    order = np.random.default_rng(0).permutation(len(features))
    whole, part = judge.look(features, table), judge.look(features[order[:7]], table)
    np.testing.assert_array_equal(whole.verdict[order[:7]], part.verdict)
    np.testing.assert_allclose(whole.novelty[order[:7]], part.novelty, atol=1e-6)


def test_more_novel_images_to_expect_make_every_image_more_novel():
    table, judge = streams.taught()
    features, _ = streams.images(range(8), 5, seed=4)
    few, many = (judge.look(features, table, prior=prior).novelty for prior in (0.05, 0.8))
    assert (many > few).all()
    np.testing.assert_allclose(
        judge.look(features, table, prior=judge.prior).novelty, judge.look(features, table).novelty
    )


def test_confidence_comes_true_on_fresh_images_of_classes_that_overlap():
    table, judge = streams.taught(8, each=30, held=40, spread=0.35)
    fresh, truth = streams.images(range(12), 60, seed=2, spread=0.35)
    scores = judge.look(fresh, table, prior=1 / 3)
    assert reliability(scores.confidence, scores.place == truth).ece < 0.08
    assert judge.reliability.ece < 0.08


def test_a_judge_is_its_values_which_json_holds():
    _, judge = streams.taught()
    again = Judge.of(json.loads(json.dumps(judge.values, allow_nan=False)))
    assert again.values == judge.values
    table, _ = streams.taught()
    features, _ = streams.images(range(8), 5, seed=4)
    np.testing.assert_array_equal(again.look(features, table).confidence, judge.look(features, table).confidence)


def test_equal_seeds_give_equal_judges():
    features, labels = streams.images(range(4), 6, seed=0)
    first, again = (fit_judge(features, labels, features[:0], labels[:0], seed=3) for _ in range(2))
    assert first.values == again.values


def test_without_any_class_everything_is_new():
    _, judge = streams.taught()
    empty = ClassTable(
        ids=(),
        means=np.zeros((0, streams.DIM), dtype=np.float32),
        spreads=np.zeros(0),
        counts=np.zeros(0, dtype=np.int64),
        known=np.zeros(0, dtype=np.bool_),
    )
    scores = judge.look(streams.centres(), empty)
    assert (scores.verdict == NEW).all()
    assert (scores.place == -1).all()


def test_one_class_alone_can_still_be_told_from_what_is_far():
    features, labels = streams.images([0], 30, seed=0)
    judge = fit_judge(features, labels, *streams.images([0], 20, seed=1), seed=0)
    table = table_of(features, labels, ids(1))
    own, _ = streams.images([0], 30, seed=2)
    others, _ = streams.images([1, 2, 3], 10, seed=2)
    assert (judge.look(own, table).verdict == KNOWN).mean() > 0.8
    assert (judge.look(others, table).verdict == NEW).all()


def test_one_image_of_each_class_is_enough_to_begin():
    features = streams.centres()[:5]
    judge = fit_judge(features, np.arange(5), features[:0], np.zeros(0, dtype=np.int64), seed=0)
    scores = judge.look(features, table_of(features, np.arange(5), ids(5)))
    assert scores.place.tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(scores.confidence).all()


def test_held_out_images_of_a_class_that_was_not_taught_are_refused():
    features, labels = streams.images(range(3), 4, seed=0)
    with pytest.raises(InputError, match="no training image"):
        fit_judge(features, labels, features, labels + 1, seed=0)


def test_held_out_images_that_are_no_numbers_are_refused():
    features, labels = streams.images(range(3), 4, seed=0)
    with pytest.raises(InputError, match="NaN"):
        fit_judge(features, labels, np.full_like(features, np.nan), labels, seed=0)


def test_the_logit_is_undone_by_the_sigmoid_and_finite_at_the_ends():
    p = np.array([0.001, 0.3, 0.999])
    np.testing.assert_allclose(sigmoid(logit(p)), p)
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()
