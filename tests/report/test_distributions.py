import numpy as np
import pytest

from metagcd.report.distributions import BINS, histogram_figure, reliability_figure


def test_bars_are_stacked_to_the_number_of_all_images():
    rng = np.random.default_rng(0)
    groups = {"known": rng.random(50), "unsure": rng.random(20), "new": np.zeros(0)}
    (panel,) = histogram_figure(groups, xlabel="confidence").axes
    heights = np.array([bar.get_height() for bar in panel.patches]).reshape(3, BINS)
    assert heights.sum(axis=1).tolist() == [50, 20, 0]
    counts, _ = np.histogram(np.concatenate(list(groups.values())), np.linspace(0, 1, BINS + 1))
    np.testing.assert_array_equal(heights.sum(axis=0), counts)


def test_groups_differ_without_colour():
    (panel,) = histogram_figure({"a": np.ones(3), "b": np.ones(3)}, xlabel="x").axes
    assert len({bar.get_hatch() for bar in panel.patches}) == 2


def test_without_groups_there_is_a_figure_all_the_same():
    assert histogram_figure({}, xlabel="x").axes


def test_bins_without_cases_have_no_mark():
    confidence, accuracy = np.array([0.1, np.nan, 0.9]), np.array([0.2, np.nan, 0.8])
    (panel,) = reliability_figure(confidence, accuracy, np.array([5, 0, 10])).axes
    (marks,) = panel.collections
    np.testing.assert_allclose(marks.get_offsets(), [[0.1, 0.2], [0.9, 0.8]])
    small, large = marks.get_sizes()
    assert small < large == pytest.approx(140)
