import numpy as np
from workspace import streams

from metagcd.workspace.grouping import FEWEST, UNLIKELY, Pool, first_means
from metagcd.workspace.novel import BESIDE, new_classes, pooled


def test_the_pool_holds_all_that_may_be_novel_and_some_of_every_class():
    table, judge = streams.taught()
    features, truth = streams.images([0, 0, 0, 0, 1, 7], 30, seed=3)
    scores = judge.look(features, table)
    rows = pooled(scores, 0)
    assert (np.diff(rows) > 0).all()
    assert set(np.flatnonzero(scores.novelty >= UNLIKELY)) <= set(rows)
    explained = rows[scores.novelty[rows] < UNLIKELY]
    counts = np.bincount(truth[explained])
    assert counts[0] == BESIDE
    assert 0 < counts[1] <= 30


def test_groups_of_too_few_images_are_no_class():
    table, judge = streams.taught()
    many, _ = streams.images([6], 20, seed=3)
    few, _ = streams.images([8], FEWEST - 1, seed=3)
    features = np.concatenate([many, few])
    pool = Pool(features=features, novelty=judge.look(features, table).novelty, table=table, judge=judge)
    found = new_classes(pool, first_means(pool, n_novel=None, seed=0), n_novel=None)
    assert len(found) == len(table) + 1
    assert found.counts[-1] >= 20
