import math
from dataclasses import replace

import pytest
from rows import row

from metagcd.experiment.published import Figures, Published
from metagcd.experiment.suite import Choices, load_suite
from metagcd.experiment.tables import View
from metagcd.experiment.tables_suite import suite_table

PRINTED = Published(
    source="a paper",
    protocol="metagcd-cifar10",
    rows={
        "gcd": Figures(((50.0, 60.0, 40.0), (45.0, 55.0, 35.0), (40.0, 50.0, 30.0))),
        "metagcd": Figures(((51.0, 61.0, 41.0), (46.0, 56.0, 36.0), (41.5, 51.0, 32.0))),
        "gm": Figures(((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0))),
    },
)


def rows(label, start, seeds=(0, 1)):
    """Scores that fall by ten points with every session and rise by one with every seed."""
    return [
        row(
            method=label,
            seed=seed,
            session=session,
            all=float(start) - 10 * session + seed,
            old=float(start) + 5 - 10 * session + seed,
            new=math.nan if session == 0 else float(start) - 20 - 10 * session + seed,
        )
        for seed in seeds
        for session in range(3)
    ]


def figure3():
    return replace(load_suite("figure3", Choices()), layout="improvement")


def table(suite, starts, **how):
    return suite_table(suite, {label: rows(label, start) for label, start in starts.items()}, **how)


def test_a_line_has_every_session_and_what_the_reference_gains_on_it_at_last():
    found = table(figure3(), {"gcd": 80, "metagcd": 83.5})
    assert found.header == (
        *("method", "All 1", "Old 1", "New 1", "All 2", "Old 2", "New 2"),
        *("gain All", "gain Old", "gain New"),
    )
    gcd, metagcd = found.lines
    assert gcd[:4] == ("gcd", "70.5 ± 0.7", "75.5 ± 0.7", "50.5 ± 0.7")
    assert gcd[-3:] == ("+3.5", "+3.5", "+3.5")
    assert metagcd[-3:] == ("", "", "")


def test_the_ablation_ends_in_averages_over_the_online_sessions():
    suite = load_suite("table3", Choices())
    found = suite_table(suite, {one.label: rows(one.label, 80) for one in suite.rows})
    assert found.header[-3:] == ("mA", "mO", "mN")
    assert found.lines[0][-3:] == ("65.5 ± 0.7", "70.5 ± 0.7", "45.5 ± 0.7")
    assert sum("over sessions" in note for note in found.notes) == 3


def test_a_sweep_has_a_line_per_value():
    suite = load_suite("figure4-classes", Choices())
    found = suite_table(suite, {one.label: rows(one.label, 80) for one in suite.rows})
    assert found.header[0] == "episode.novel"
    assert [line[0] for line in found.lines] == ["1", "2"]
    assert found.lines[0][1:] == (
        *("65.5 ± 0.7", "70.5 ± 0.7", "45.5 ± 0.7"),
        *("60.5 ± 0.7", "65.5 ± 0.7", "40.5 ± 0.7"),
    )
    assert "3, 4, 5" in found.notes[-1]


def test_what_a_paper_prints_stands_in_marked_lines_after_ours():
    found = table(figure3(), {"gcd": 80, "metagcd": 83}, printed=PRINTED)
    assert found.header[:2] == ("method", "figures of")
    assert [line[:2] for line in found.lines] == [
        *(("gcd", "ours"), ("metagcd", "ours")),
        *(("gcd", "paper"), ("metagcd", "paper"), ("gm", "paper")),
    ]
    assert found.lines[2][2:5] == ("50.00", "60.00", "40.00")
    assert "a paper" in found.notes[-1]


def test_gains_are_never_taken_between_ours_and_theirs():
    found = table(figure3(), {"gcd": 80, "metagcd": 83}, printed=PRINTED)
    assert found.lines[0][-3:] == ("+3.0", "+3.0", "+3.0")
    assert found.lines[2][-3:] == ("+1.5", "+1.0", "+2.0")
    assert found.lines[3][-3:] == ("", "", "")
    assert found.lines[4][-3:] == ("+40.5", "+49.0", "+29.0")


def test_sessions_that_only_one_side_has_are_dashes_on_the_other():
    found = table(figure3(), {"gcd": 80, "metagcd": 83}, printed=PRINTED)
    assert found.header[8:11] == ("All 3", "Old 3", "New 3")
    assert found.lines[0][8:11] == ("-", "-", "-")
    assert found.lines[2][8:11] == ("40.00", "50.00", "30.00")


def test_ours_are_the_same_with_and_without_theirs():
    with_theirs = table(figure3(), {"gcd": 80, "metagcd": 83}, printed=PRINTED)
    alone = table(figure3(), {"gcd": 80, "metagcd": 83})
    for own, both in zip(alone.lines, with_theirs.lines[:2], strict=True):
        assert (own[1:7], own[-3:]) == (both[2:8], both[-3:])


def test_only_the_readout_that_is_asked_for_is_shown():
    found = table(figure3(), {"gcd": 80}, view=View(readout="semi"))
    assert set(found.lines[0][1:]) <= {"-", ""}


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_notes_are_written_below_the_table(form):
    found = table(figure3(), {"gcd": 80, "metagcd": 83})
    text = getattr(found, form)()
    assert "metagcd over gcd, final All: no test" in text
    assert "no test" not in found.csv()
