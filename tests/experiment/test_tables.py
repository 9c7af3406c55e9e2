import math

import pytest
from rows import row

from metagcd.experiment.tables import View, comparison, courses, summary_table

SCORES = {0: (90.0, math.nan), 1: (80.0, 40.0), 2: (85.0, 50.0)}


def rows(method="gcd", seeds=(0, 1), gain=0.0, **values):
    """Scores that rise by a point with every seed, under both partitions."""
    return [
        row(
            method=method,
            seed=seed,
            session=session,
            partition=partition,
            all=old - 5 + seed + gain,
            old=old + seed + gain - (10 if partition == "previous" else 0),
            new=new + seed + gain,
            **values,
        )
        for seed in seeds
        for session, (old, new) in SCORES.items()
        for partition in ("initial", "previous")
    ]


def test_a_course_holds_the_sessions_of_a_seed_in_order():
    first, second = courses(View().of(list(reversed(rows()))))
    assert (first.seed, second.seed) == (0, 1)
    assert first.sessions == (0, 1, 2)
    assert first.final.all == 80.0
    assert (first.average.all, first.average.old, first.average.new) == (77.5, 82.5, 45.0)


def test_the_summary_has_means_over_online_sessions_forgetting_and_discovery():
    (line,) = summary_table(rows(seeds=(0,))).lines
    assert line == ("gcd", "kmeans", "77.5", "82.5", "45.0", "10.0", "50.0")


def test_the_summary_spreads_over_seeds():
    (line,) = summary_table(rows()).lines
    assert line[2] == "78.0 ± 0.7"
    assert line[5] == "10.0 ± 0.0"


def test_forgetting_parts_the_classes_of_session_0_whatever_partition_is_shown():
    (line,) = summary_table(rows(seeds=(0,)), View(partition="previous", readout=None)).lines
    assert line == ("gcd", "kmeans", "77.5", "72.5", "45.0", "10.0", "50.0")


def test_the_summary_keeps_methods_and_readouts_apart():
    table = summary_table([*rows(), *rows("metagcd"), *rows(readout="semi")])
    assert [line[:2] for line in table.lines] == [("gcd", "kmeans"), ("metagcd", "kmeans"), ("gcd", "semi")]


def compared(first, second, average=False):
    found = [courses(View().of(each)) for each in (first, second)]
    return comparison(*found, labels=("metagcd", "gcd"), average=average)


def test_fewer_than_three_shared_seeds_are_not_tested():
    assert "no test" in compared(rows("metagcd", gain=3), rows())
    assert "there is 1" in compared(rows("metagcd", seeds=(1, 5, 6)), rows(seeds=(1, 2, 3)))


def test_seeds_under_other_protocols_are_not_paired():
    assert "there are 0" in compared(rows(seeds=(0, 1, 2)), rows(seeds=(0, 1, 2), protocol="p2"))


@pytest.mark.parametrize(("average", "what"), [(False, "final All"), (True, "mean All over sessions")])
def test_three_seeds_are_tested_and_the_least_possible_p_is_named(average, what):
    words = compared(rows("metagcd", seeds=(0, 1, 2), gain=3), rows(seeds=(0, 1, 2)), average)
    assert f"metagcd over gcd, {what}: +3.0 points" in words
    assert "sign flips p = 0.250 (3 seeds, for which it is 0.250 at least)" in words
