import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.experiment.sample import DIMENSIONS, IMAGES, balanced, principal, sample


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 50))
def test_rows_come_from_the_classes_as_evenly_as_these_allow(labels, limit):
    truth = np.array(labels)
    rows = balanced(truth, limit)
    assert len(rows) == min(limit, len(truth))
    assert (np.diff(rows) > 0).all()
    sizes = {label: (int((truth == label).sum()), int((truth[rows] == label).sum())) for label in set(labels)}
    most = max(taken for _, taken in sizes.values())
    assert all(taken == size or taken >= most - 1 for size, taken in sizes.values())


def test_the_first_images_of_a_class_are_taken():
    assert balanced(np.array([1, 0, 1, 0, 1, 0]), 4).tolist() == [0, 1, 2, 3]


def test_components_are_those_of_a_singular_value_decomposition_up_to_direction_and_scale():
    features = np.random.default_rng(0).normal(size=(40, 6)) * [5, 4, 3, 2, 1, 0.5]
    found = principal(features, 3)
    left, sizes, _ = np.linalg.svd(features - features.mean(0), full_matrices=False)
    expected = (left * sizes)[:, :3]
    expected /= np.abs(expected).max()
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
    assert np.abs(found).max() == pytest.approx(1)


def test_components_do_not_depend_on_where_the_features_lie():
    features = np.random.default_rng(1).normal(size=(20, 5)).astype(np.float32)
    np.testing.assert_allclose(principal(features, 2), principal(features + 3, 2), atol=1e-5)


def test_features_narrower_than_asked_keep_their_width_and_equal_ones_become_zero():
    assert principal(np.ones((4, 3)), 32).tolist() == np.zeros((4, 3)).tolist()


def test_what_is_kept_is_small_and_in_half_precision():
    rng = np.random.default_rng(0)
    truth = rng.integers(100, size=4000)
    kept = sample(rng.normal(size=(4000, 64)).astype(np.float32) * 1e6, truth)
    assert kept["map_rows"].shape == (IMAGES,)
    assert kept["map_points"].shape == (IMAGES, DIMENSIONS)
    assert kept["map_points"].dtype == np.float16
    assert np.isfinite(kept["map_points"]).all()
    assert set(np.bincount(truth[kept["map_rows"]])) == {15}
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, truth=truth, kmeans=truth, semi=truth, prototype=truth, **kept)
    assert len(content.getvalue()) < 150_000


@pytest.mark.parametrize("features", [np.zeros((0, 4)), np.full((3, 4), np.nan), np.array([[np.inf, 0.0]] * 3)])
def test_features_of_which_nothing_can_be_made_are_not_kept(features):
    assert sample(features, np.arange(len(features))) == {}
