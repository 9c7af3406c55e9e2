from dataclasses import replace

import pytest
from report.cases import Made, made
from scipy.stats import ttest_rel

from metagcd.cli.main import main
from metagcd.cli.pairs import pair_table
from metagcd.errors import InputError


def shifted(run, *by, **changes):
    """Add so many points to All under each seed."""
    for seed, points in enumerate(by):
        for session in (0, 1, 2):
            rows = [row for row in run.rows() if (row.seed, row.session) == (seed, session)]
            run.write_rows(seed, session, [replace(row, all=row.all + points, **changes) for row in rows])


@pytest.fixture
def two(tmp_path):
    better, worse = (made(tmp_path / name, Made(method=name, seeds=(0, 1, 2))) for name in ("gcd", "frozen"))
    shifted(better, 3.0, 4.0, 8.0)
    return better, worse


def test_the_first_run_is_compared_seed_by_seed_with_the_others(two):
    table = pair_table(two)
    assert table.header[:5] == ("minus", "read-out", "session", "seeds", "score")
    line = next(line for line in table.lines if line[2:5] == ("2", "3", "All"))
    assert line[:2] == ("frozen", "kmeans")
    assert float(line[5]) == 5.0
    assert float(line[6]) == pytest.approx(ttest_rel([3.0, 4.0, 8.0], [0.0, 0.0, 0.0]).pvalue, abs=6e-4)
    assert line[7] == "0.250"
    assert pair_table(two[::-1]).lines[0][5] == "-5.0"


def test_equal_scores_differ_by_nothing_and_missing_ones_by_a_dash(two):
    lines = {line[2:5]: line[5:] for line in pair_table(two).lines}
    assert lines["1", "3", "Old"] == ("+0.0", "-", "1.000")
    assert lines["0", "3", "New"] == ("-", "-", "-")


def test_what_cannot_be_paired_is_refused(two, tmp_path):
    with pytest.raises(InputError, match="two run directories"):
        pair_table(two[:1])
    other = made(tmp_path / "other", Made(method="other", seeds=(5,)))
    with pytest.raises(InputError, match="share no seed"):
        pair_table([two[0], other])
    shifted(two[1], 0.0, 0.0, 0.0, protocol="another")
    with pytest.raises(InputError, match="different protocols"):
        pair_table(two)
    shifted(two[1], 0.0, 0.0, 0.0, readout="head")
    with pytest.raises(InputError, match="no session and read-out"):
        pair_table(two)


def test_a_comparison_is_printed(two, tmp_path, capsys):
    main(["table", str(tmp_path / "gcd"), str(tmp_path / "frozen"), "--compare"])
    out = capsys.readouterr().out
    assert "gcd minus another run" in out
    assert "+5.0" in out
