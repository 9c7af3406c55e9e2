from dataclasses import replace

import numpy as np
import pytest
from workspace import streams

from metagcd.workspace.nearness import Nearness
from metagcd.workspace.telling import RARE, learned_novelty, smooth_density, told_novelty, told_prior


def levels(values):
    """Nearness of which a judge of the plain depth makes these logits."""
    zero = np.zeros(len(values))
    return Nearness(
        place=np.zeros(len(values), dtype=np.int64), reach=zero, depth=np.asarray(values), margin=zero, share=zero + 1,
        beyond=zero,
    )  # fmt: skip


def judge(**changes):
    plain = replace(streams.taught()[1], offset=0.0, reach=0.0, depth=1.0, margin=0.0, prior=0.5)
    known = tuple(np.random.default_rng(0).normal(-4, 1, size=33).tolist())
    return replace(plain, known_levels=known, novel_level=4.0, novel_spread=1.0, **changes)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_the_share_of_novel_images_is_told_by_the_session(share):
    values = np.where(np.arange(400) < 400 * share, 4.0, -4.0)
    assert told_prior(judge(), levels(values)) == pytest.approx(max(share, RARE), abs=0.03)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_novel_images_that_look_less_novel_than_hidden_classes_did_are_found_all_the_same(share):
    rng = np.random.default_rng(1)
    novel = rng.random(2000) < share
    level = np.where(novel, rng.normal(-0.5, 1, size=2000), rng.normal(-4, 1, size=2000))
    learned = learned_novelty(judge(), level)
    assert learned.mean() == pytest.approx(share, abs=0.06)
    assert ((learned > 0.5) == novel).mean() > 0.93
    plain = judge().novelty(levels(level), prior=0.5)
    assert plain.mean() < learned.mean()


def test_known_images_alone_stay_known():
    level = np.random.default_rng(1).normal(-4, 1, size=500)
    assert learned_novelty(judge(), level).mean() < 0.08


def test_what_lies_farther_out_is_never_less_novel():
    level = np.random.default_rng(2).normal(-2, 3, size=300)
    found = learned_novelty(judge(), level)
    assert (np.diff(found[np.argsort(level)]) >= 0).all()


def test_only_images_near_taught_classes_are_judged_by_what_is_learned():
    near = levels(np.random.default_rng(3).normal(-2, 2, size=60))
    none = told_novelty(judge(), near, np.zeros(60, dtype=np.bool_))
    np.testing.assert_array_equal(none, judge().novelty(near, prior=told_prior(judge(), near)))
    half = told_novelty(judge(), near, np.arange(60) < 30)
    np.testing.assert_array_equal(half[30:], none[30:])
    np.testing.assert_array_equal(half[:30], learned_novelty(judge(), near.depth[:30]))


def test_the_density_of_the_points_is_one_in_all():
    grid = np.linspace(-20, 20, 4001)
    points = np.random.default_rng(0).normal(size=33)
    assert smooth_density(points, grid).sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-3)
