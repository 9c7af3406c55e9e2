from statistics import fmean

import pytest

from metagcd.experiment.published import published
from metagcd.experiment.suite import Choices, load_suite, suite_names
from metagcd.protocol.named import named_protocol

SESSIONS = {"cifar10": 3, "cifar100": 4, "tiny-imagenet": 5}
# "Final Impro." of Table 2 in All, Old and New over GM, as the paper prints it.
PRINTED_GAINS = {"cifar10": (4.80, 0.08, 5.78), "cifar100": (2.54, 1.62, 4.81), "tiny-imagenet": (2.93, -0.55, 7.56)}


@pytest.mark.parametrize(("dataset", "sessions"), SESSIONS.items())
def test_every_printed_row_has_as_many_sessions_as_its_protocol(dataset, sessions):
    found = published(dataset, "table2")
    assert set(found.rows) == {"rankstats", "frost", "gcd", "gm", "metagcd"}
    assert {len(figures.sessions) for figures in found.rows.values()} == {sessions}
    assert {len(scores) for figures in found.rows.values() for scores in figures.sessions} == {3}
    assert len(named_protocol(found.protocol).novel) == sessions


@pytest.mark.parametrize(("dataset", "gains"), PRINTED_GAINS.items())
def test_the_last_sessions_differ_by_the_improvement_that_the_paper_prints(dataset, gains):
    rows = published(dataset, "table2").rows
    last = [rows[name].sessions[-1] for name in ("metagcd", "gm")]
    assert [round(ours - theirs, 2) for ours, theirs in zip(*last, strict=True)] == pytest.approx(gains)


def test_the_averages_of_the_ablation_are_those_of_its_sessions():
    for figures in published("cifar100", "table3").rows.values():
        for place, printed in enumerate(figures.average):
            assert fmean(scores[place] for scores in figures.sessions) == pytest.approx(printed, abs=0.011)


def test_the_rows_of_the_ablation_are_those_of_the_suite():
    names = {row.name for row in load_suite("table3", Choices()).rows}
    assert set(published("cifar100", "table3").rows) == names


def test_what_the_paper_does_not_print_is_not_there():
    assert published("digits", "table2") is None
    assert published("cifar10", "table3") is None
    assert all(published("cifar100", name) is None for name in suite_names() if name.startswith("figure"))
