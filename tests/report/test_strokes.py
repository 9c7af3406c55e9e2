import pytest

from metagcd.report.strokes import COLOURS, FILL, FULL, INK, PAPER, stroke

NIGHT = "#14171b"


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def blend(top, ground, share):
    mixed = [round(share * int(top[p : p + 2], 16) + (1 - share) * int(ground[p : p + 2], 16)) for p in (1, 3, 5)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("ground", [PAPER, NIGHT])
def test_lines_stand_out_from_light_and_dark_paper(colour, ground):
    assert contrast(colour, ground) >= 3


def test_no_two_lines_near_each_other_share_dashes_or_marker():
    for place in range(40):
        one, other = stroke(place), stroke(place + 1)
        assert one.dashes != other.dashes
        assert one.marker != other.marker


def test_a_stroke_comes_again_only_after_210_others():
    assert len({stroke(place) for place in range(210)}) == 210
    assert stroke(210) == stroke(0)


@pytest.mark.parametrize(("ground", "ink"), [(PAPER, INK), (NIGHT, "#e7e9ec")])
def test_figures_inside_cells_can_be_read_up_to_the_share_where_they_turn_light(ground, ink):
    for percent in range(int(100 * FULL) + 1):
        assert contrast(ink, blend(FILL, ground, percent / 100)) >= 4.4


@pytest.mark.parametrize("ground", [PAPER, NIGHT])
def test_light_figures_inside_full_cells_can_be_read(ground):
    for percent in range(int(100 * FULL), 101):
        assert contrast(PAPER, blend(FILL, ground, percent / 100)) >= 3.4
