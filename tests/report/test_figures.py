import numpy as np
import pytest
from matplotlib.colors import to_hex
from report.cases import Made, made

from metagcd.report.confusion import Confusion
from metagcd.report.figures import (
    Curve,
    accuracy_figure,
    class_count_figure,
    confusion_figure,
    confusion_figures,
    curve_figure,
    forgetting_figure,
    save_figure,
    svg_text,
)
from metagcd.report.records import read_records
from metagcd.report.strokes import BOUNDARY


@pytest.fixture
def rows(tmp_path):
    made(tmp_path / "one")
    made(tmp_path / "two", Made(method="gcd"))
    return [row for record in read_records([tmp_path / "one", tmp_path / "two"]) for row in record.rows]


def lines(panel):
    return {line.get_label(): line.get_xydata().tolist() for line in panel.lines}


def test_accuracy_has_a_panel_per_score_with_the_means_over_seeds(rows):
    every, old, new = accuracy_figure(rows).axes
    assert [panel.get_title() for panel in (every, old, new)] == ["All", "Old", "New"]
    assert lines(every)["gcd"] == [[0, 70.5], [1, 70.5], [2, 70.5]]
    assert lines(old)["frozen"] == [[0, 80], [1, 79], [2, 78]]
    assert lines(new)["frozen"] == [[1, 41], [2, 41]]


def test_bands_reach_one_standard_deviation_to_both_sides(rows):
    band = accuracy_figure(rows).axes[0].collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == pytest.approx((70.5 - np.sqrt(0.5), 70.5 + np.sqrt(0.5)))


def test_lines_differ_in_dashes_and_markers_too(rows):
    one, other = accuracy_figure(rows).axes[0].lines
    assert one.get_linestyle() != other.get_linestyle()
    assert one.get_marker() != other.get_marker()


def test_forgetting_is_the_fall_on_the_classes_of_session_0(rows):
    (panel,) = forgetting_figure(rows).axes
    assert lines(panel)["frozen"] == [[0, 0], [1, 1], [2, 2]]


def test_class_counts_stand_beside_how_many_there_were(rows):
    (panel,) = class_count_figure(rows, {0: 3, 1: 4}).axes
    assert lines(panel)["frozen"] == [[0, 3], [1, 4], [2, 5]]
    marks = [path.vertices[0, 1] for mark in panel.collections[2:] for path in mark.get_paths()]
    assert marks == [3, 4]


def test_a_curve_over_a_threshold_keeps_its_points():
    curve = Curve(label="metagcd", x=(0.8, 0.85), mean=(70.0, 71.0), spread=(0.0, 0.0))
    (panel,) = curve_figure([curve], xlabel="threshold", ylabel="accuracy in %").axes
    assert lines(panel) == {"metagcd": [[0.8, 70.0], [0.85, 71.0]]}
    assert panel.get_xlabel() == "threshold"


def test_red_lines_stand_between_known_and_novel():
    matrix = Confusion(np.diag([4, 4, 2]), (0, 1, 2))
    (panel,) = confusion_figure(matrix, known=2).axes
    across, down = panel.lines
    assert set(across.get_ydata()) == set(down.get_xdata()) == {1.5}
    assert to_hex(across.get_color()) == BOUNDARY


def test_matrices_beside_one_another_have_a_panel_and_a_title_each():
    small, large = Confusion(np.diag([4, 4]), (0, 1)), Confusion(np.diag([4, 4, 2]), (0, 1, 2))
    panels = confusion_figures({"gcd": small, "metagcd": large}, known=1).axes
    assert [panel.get_title() for panel in panels] == ["gcd", "metagcd"]
    assert [len(panel.lines) for panel in panels] == [2, 2]


@pytest.mark.parametrize("classes", [2, 10, 40])
@pytest.mark.parametrize("matrices", [1, 2, 3])
def test_no_title_and_no_label_of_a_matrix_is_cut_off(classes, matrices):
    matrix = Confusion(np.eye(classes, dtype=np.int64), tuple(range(classes)))
    figure = confusion_figures({f"title {place}": matrix for place in range(matrices)})
    figure.draw_without_rendering()
    page = figure.get_window_extent()
    for panel in figure.axes:
        for text in (panel.title, panel.xaxis.label, panel.yaxis.label):
            box = text.get_window_extent()
            assert page.x0 <= box.x0 < box.x1 <= page.x1
            assert page.y0 <= box.y0 < box.y1 <= page.y1


def test_without_novel_classes_there_is_no_red_line():
    matrix = Confusion(np.diag([4, 4]), (0, 1))
    assert not confusion_figure(matrix, known=2).axes[0].lines
    assert not confusion_figure(matrix).axes[0].lines


def test_cells_carry_their_percentages_when_there_are_few():
    panel = confusion_figure(Confusion(np.array([[3, 1], [0, 4]]), (0, 1))).axes[0]
    assert [text.get_text() for text in panel.texts] == ["75", "25", "100"]
    assert not confusion_figure(Confusion(np.eye(40, dtype=np.int64), tuple(range(40)))).axes[0].texts


def test_names_that_look_like_formulas_or_markup_are_drawn_as_they_are():
    names = ("$x", "a$\\frac$b", "<b>", "名前", "x" * 80)
    text = svg_text(confusion_figure(Confusion(np.eye(5, dtype=np.int64), tuple(range(5))), names=names))
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert "a$\\frac$b" in text
    assert "名前" in text


def test_long_names_keep_both_ends_and_many_classes_have_numbers():
    names = tuple(f"a class whose number is {place}" for place in range(30))
    few = confusion_figure(Confusion(np.eye(2, dtype=np.int64), (0, 1)), names=names)
    assert [tick.get_text() for tick in few.axes[0].get_yticklabels()] == ["a class…r is 0", "a class…r is 1"]
    many = confusion_figure(Confusion(np.eye(30, dtype=np.int64), tuple(range(30))), names=names)
    assert [tick.get_text() for tick in many.axes[0].get_yticklabels()][:2] == ["0", "2"]


def test_the_same_figure_gives_the_same_bytes_of_svg(rows, tmp_path):
    first = save_figure(accuracy_figure(rows), tmp_path / "a.b")
    second = save_figure(accuracy_figure(rows), tmp_path / "second")
    assert [path.name for path in first] == ["a.b.svg", "a.b.png"]
    assert first[0].read_bytes() == second[0].read_bytes()
    assert b"dc:date" not in first[0].read_bytes()
    assert first[1].read_bytes().startswith(b"\x89PNG")


def test_figures_without_any_row_are_empty_and_not_an_error():
    assert len(accuracy_figure([]).axes) == 3
    assert svg_text(forgetting_figure([])).startswith("<?xml")
