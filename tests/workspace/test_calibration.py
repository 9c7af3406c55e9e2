import numpy as np
import pytest
from workspace import streams

from metagcd.workspace.calibration import PRIOR, TEMPERATURES, chosen_temperature, examples
from metagcd.workspace.table import table_of


def test_hidden_classes_are_novel_once_and_weigh_their_share():
    table, _ = streams.taught()
    held_out, labels = streams.images(range(6), 10, seed=1)
    cases = examples(held_out, labels, table, temperature=0.1, seed=0)
    assert cases.novel.sum() == len(labels)
    assert (~cases.novel).sum() == len(labels)
    assert cases.weights[cases.novel].sum() / cases.weights.sum() == pytest.approx(PRIOR)
    assert not cases.right[cases.novel].any()
    assert cases.near.depth[cases.novel].mean() > cases.near.depth[~cases.novel].mean()


def test_a_single_class_cannot_be_hidden():
    table, _ = streams.taught()
    held_out, labels = streams.images([0], 10, seed=1)
    cases = examples(held_out, labels, table.rows(np.array([0])), temperature=0.1, seed=0)
    assert not cases.novel.any()


def test_rows_of_examples_keep_what_belongs_together():
    table, _ = streams.taught()
    held_out, labels = streams.images(range(6), 4, seed=1)
    cases = examples(held_out, labels, table, temperature=0.1, seed=0)
    part = cases.rows(cases.novel)
    np.testing.assert_array_equal(part.columns, cases.columns[cases.novel])
    assert part.novel.all()


def test_the_temperature_is_that_of_the_mixture_the_images_came_from():
    # For spherical Gaussians in d dimensions an axis has one part in d of the whole variance.
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 10)) * 0.7
    labels = rng.integers(5, size=4000)
    features = (centres[labels] + rng.normal(size=(4000, 10))).astype(np.float32)
    table = table_of(features[:2000], labels[:2000], streams.ids(5))
    found = chosen_temperature(features[2000:], labels[2000:], table, seed=0)
    step = TEMPERATURES[1] / TEMPERATURES[0]
    assert 0.1 / step**1.5 < found < 0.1 * step**1.5
