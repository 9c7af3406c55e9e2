import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspace import streams
from workspace.streams import ids

from metagcd.workspace.nearness import FARTHEST, Own, nearness, typical_variance, usual_variances
from metagcd.workspace.table import table_of


def test_every_column_is_that_of_a_loop():
    table, _ = streams.taught(4)
    features, _ = streams.images(range(6), 3, seed=3)
    found = nearness(features, table, temperature=0.2, first=2)
    usual, typical = usual_variances(table), typical_variance(table)
    for row, image in enumerate(features.astype(np.float64)):
        squares = [float(((image - mean) ** 2).sum()) for mean in table.means.astype(np.float64)]
        place = int(np.argmin(squares))
        doubt = 1 + 1 / table.counts[place]
        odds = [np.exp(-square / (2 * 0.2 * typical)) for square in squares]
        assert found.place[row] == place
        assert found.reach[row] == pytest.approx(np.log(squares[place] / typical / doubt), abs=1e-3)
        assert found.depth[row] == pytest.approx(np.log(squares[place] / usual[place] / doubt), abs=1e-3)
        second = sorted(squares)[1] / squares[place]
        assert found.margin[row] == pytest.approx(np.log(min(second, FARTHEST)), abs=1e-3)
        assert found.share[row] == pytest.approx(odds[place] / sum(odds), abs=1e-3)
        assert found.beyond[row] == pytest.approx(sum(odds[2:]) / sum(odds), abs=1e-3)


@given(scale=st.floats(0.01, 100))
def test_it_does_not_depend_on_the_scale_of_the_features(scale):
    features, labels = streams.images(range(3), 6, seed=0)
    probes, _ = streams.images(range(5), 2, seed=1)
    plain = nearness(probes, table_of(features, labels, ids(3)), temperature=0.3)
    size = np.float32(scale)
    scaled = nearness(probes * size, table_of(features * size, labels, ids(3)), temperature=0.3)
    np.testing.assert_array_equal(scaled.place, plain.place)
    for name in ("reach", "depth", "margin", "share"):
        np.testing.assert_allclose(getattr(scaled, name), getattr(plain, name), atol=2e-3)


def test_a_single_class_leaves_no_doubt_which():
    table, _ = streams.taught(4)
    found = nearness(streams.centres(), table.rows(np.array([0])), temperature=0.3)
    assert (found.place == 0).all()
    assert (found.share == 1).all()
    np.testing.assert_allclose(found.margin, np.log(FARTHEST))


def test_an_image_left_out_of_its_own_mean_is_as_far_as_from_the_mean_of_the_others():
    features, labels = streams.images(range(2), 6, seed=0)
    table = table_of(features, labels, ids(2))
    own = Own(place=labels, stretch=np.full(len(labels), (6 / 5) ** 2))
    found = nearness(features, table, temperature=0.3, own=own)
    for row, image in enumerate(features):
        others = features[(labels == labels[row]) & (np.arange(len(labels)) != row)]
        square = ((image - others.mean(0)) ** 2).sum()
        expected = np.log(square / typical_variance(table) / (1 + 1 / 6))
        assert found.reach[row] == pytest.approx(expected, abs=1e-3)


def test_a_class_of_copies_is_given_some_spread():
    copies = np.repeat(streams.centres()[:1], 8, axis=0)
    features, labels = streams.images([1, 2], 8, seed=0)
    table = table_of(np.concatenate([copies, features]), np.concatenate([np.zeros(8, dtype=np.int64), labels]), ids(3))
    assert usual_variances(table)[0] >= 0.05 * typical_variance(table)
    assert np.isfinite(nearness(copies, table, temperature=0.3).depth).all()


def test_no_images_have_no_nearest_class():
    table, _ = streams.taught(4)
    assert nearness(np.zeros((0, streams.DIM), dtype=np.float32), table, temperature=1.0).place.shape == (0,)
