import numpy as np
import pytest

from metagcd.report.figures import svg_text
from metagcd.report.map import LISTED, layout, map_figure
from metagcd.report.records import Sample
from metagcd.report.strokes import INK


def blobs(classes=4, each=20, width=6, spread=0.05):
    truth = np.repeat(np.arange(classes), each)
    centres = np.random.default_rng(1).normal(size=(classes, width))
    points = centres[truth] + spread * np.random.default_rng(0).normal(size=(len(truth), width))
    return Sample(seed=0, session=1, truth=truth, points=points.astype(np.float32))


def edged(figure):
    (panel,) = figure.axes
    return [part for part in panel.collections if part.get_linewidths()[0] > 0]


def test_images_of_a_class_lie_together():
    sample = blobs()
    places = layout(sample.points)
    medians = np.stack([np.median(places[sample.truth == label], axis=0) for label in range(4)])
    nearest = np.linalg.norm(places[:, None] - medians, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, sample.truth)


def test_the_same_points_give_the_same_map():
    points = blobs().points
    np.testing.assert_array_equal(layout(points), layout(points.copy()))
    assert svg_text(map_figure(blobs(), known=2)) == svg_text(map_figure(blobs(), known=2))


@pytest.mark.parametrize(
    "points",
    [np.zeros((0, 3)), np.ones((1, 1)), np.ones((40, 3)), np.arange(5.0)[:, None], np.arange(30.0)[:, None]],
    ids=["none", "one", "all equal", "few", "a single column"],
)
def test_degenerate_points_have_places(points):
    places = layout(points.astype(np.float16))
    assert places.shape == (len(points), 2)
    assert np.isfinite(places).all()


def test_novel_classes_alone_have_edges_and_each_a_mark_of_its_own():
    marked = edged(map_figure(blobs(classes=5), known=3))
    assert len(marked) == 2
    assert all(part.get_edgecolors()[0, :3].max() < 0.2 for part in marked)
    first, second = (part.get_paths()[0].vertices for part in marked)
    assert first.shape != second.shape or not np.allclose(first, second)


def test_names_stand_at_the_medians_of_their_classes():
    sample = blobs(classes=3)
    (panel,) = map_figure(sample, known=2, names=("ant", "bee", "$c$")).axes
    found = {text.get_text(): text.get_position() for text in panel.texts}
    assert set(found) == {"ant", "bee", r"\$c\$"}
    places = layout(sample.points)
    np.testing.assert_allclose(found["bee"], np.median(places[sample.truth == 1], axis=0))


def test_classes_of_one_name_are_both_named():
    (panel,) = map_figure(blobs(classes=2), known=2, names=("ant", "ant")).axes
    assert [text.get_text() for text in panel.texts] == ["ant", "ant"]


@pytest.mark.parametrize(
    ("classes", "known", "entries"),
    [
        (3, 2, ["known classes", "novel: 2"]),
        (3, None, ["known classes"]),
        (2 + LISTED + 1, 2, ["known classes", "novel classes"]),
    ],
)
def test_the_legend_lists_novel_classes_as_long_as_there_are_few(classes, known, entries):
    (legend,) = map_figure(blobs(classes=classes, each=5), known=known).legends
    assert [text.get_text() for text in legend.get_texts()] == entries


def test_edges_and_words_are_in_ink_so_that_they_follow_the_page():
    text = svg_text(map_figure(blobs(), known=2))
    assert text.count(INK) > 40
    assert ">3</text>" in text
