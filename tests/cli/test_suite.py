import csv
from pathlib import Path

import pytest
from cli.spoken import said

SMALL = [
    *("method.offline_epochs=1", "method.warmup_epochs=1", "method.online_updates=1", "method.tasks=1"),
    *("method.inner.updates=1", "readout.restarts=1", "method.restarts=1"),
    *("encoder.width=16", "encoder.depth=1", "protocol.novel=[1]", "protocol.labelled_fraction=0.3"),
]
WORDS = [*SMALL, "--seeds", "0", "--quiet"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Where the suites of these tests have their runs: what one has finished serves the next."""
    return str(tmp_path_factory.mktemp("runs"))


def folder(root, name):
    (found,) = (Path(root) / "suites").glob(f"{name}-digits-*")
    return found


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_dry_run_tells_the_plan_and_makes_nothing(capsys):
    code, out, err = said(capsys, "suite", "table3", *SMALL, "--seeds", "0,1", "--dry-run")
    assert (code, err) == (0, "")
    assert out.count("0/4") == 4
    assert "unknown" in out
    assert not list(Path().iterdir())


def test_figure_3_writes_a_table_and_a_picture_of_both_matrices(capsys, root):
    code, out, err = said(capsys, "suite", "figure3", *WORDS, "--root", root)
    assert (code, err) == (0, "")
    assert "gain All" in out
    assert "figure3.svg" in out
    files = folder(root, "figure3")
    assert sorted(file.suffix for file in files.glob("figure3.*")) == [".csv", ".md", ".png", ".svg", ".tex"]
    lines = list(csv.reader((files / "figure3.csv").read_text().splitlines()))
    assert [line[0] for line in lines] == ["method", "gcd", "metagcd"]
    cost = list(csv.reader((files / "figure3-cost.csv").read_text().splitlines()))
    assert cost[0] == ["method", "seconds offline", "seconds per session", "MB carried"]
    assert [line[0] for line in cost] == ["method", "gcd", "metagcd"]
    assert "Cost of learning" in out
    svg = (files / "figure3.svg").read_text()
    assert ">gcd<" in svg
    assert svg.count("#e5484d") == 4  # two red lines in each matrix


def test_table_3_takes_the_runs_that_figure_3_has_finished(capsys, root):
    said(capsys, "suite", "figure3", *WORDS, "--root", root)
    out = said(capsys, "suite", "table3", *SMALL, "--seeds", "0", "--root", root, "--dry-run")[1]
    done = [line.split()[-4] for line in out.splitlines() if "/2 " in line]
    assert done == ["2/2", "0/2", "0/2", "2/2"]


def test_published_numbers_that_are_not_there_are_said_to_be_missing(capsys, root):
    out = said(capsys, "suite", "figure3", *WORDS, "--root", root, "--published")[1]
    assert "The paper prints no numbers for figure3 on digits." in out


def test_a_sweep_draws_the_means_over_its_values(capsys, root):
    own = [word for word in WORDS if "offline_epochs" not in word]  # no key of the one method that is swept
    words = ("figure4-threshold", *own, "--root", root, "--values", "0.7,0.85", "--readout", "prototype")
    code, out, _ = said(capsys, "suite", *words)
    assert code == 0
    assert "neighbours.threshold" in out
    svg = (folder(root, "figure4-threshold") / "figure4-threshold.svg").read_text()
    for word in ("All", "Old", "New", "threshold"):
        assert f">{word}<" in svg


def test_a_summary_of_runs_has_their_averages(capsys, root):
    said(capsys, "suite", "figure3", *WORDS, "--root", root)
    (run,) = Path(root).glob("gcd-digits-*")
    out = said(capsys, "table", str(run), "--summary")[1]
    assert "M_f" in out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("gcd")] == [
        ["gcd", "kmeans"],
        ["gcd", "semi"],
        ["gcd", "prototype"],
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["table9"], "table2"),
        (["table3", "--seeds", "0,one"], "`--seeds` takes numbers"),
        (["table3", "--dataset", "digitz"], "Did you mean `digits`?"),
        (["table3", "method.online_update=3"], "`method.online_update`"),
        (["figure3", "--values", "3"], "sweeps nothing"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_with_exit_code_2(capsys, words, told):
    code, out, err = said(capsys, "suite", *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert told in err
    assert not list(Path().iterdir())
