import numpy as np
import pytest
from report.cases import Made, made

from metagcd.cli.intervals import interval_table
from metagcd.cli.main import main
from metagcd.errors import InputError
from metagcd.evaluate import clustering_accuracy


def numbers(cell):
    value, low, high = cell.replace("[", "").replace("]", "").replace(",", "").split()
    return float(value), float(low), float(high)


@pytest.mark.parametrize(("partition", "known"), [("initial", 3), ("previous", 4)])
def test_every_seed_has_its_scores_within_their_intervals(tmp_path, partition, known):
    run = made(tmp_path / "run")
    table = interval_table([run], partition=partition)
    assert table.header == ("method", "read-out", "seed", "session", "All", "Old", "New")
    assert [line[:4] for line in table.lines] == [("frozen", "kmeans", seed, "2") for seed in ("0", "1")]
    kept = np.load(run.seed(0) / "session-2.npz")
    score = clustering_accuracy(kept["truth"], kept["kmeans"], range(known))
    for cell, value in zip(table.lines[0][4:], (score.all, score.old, score.new), strict=True):
        shown, low, high = numbers(cell)
        assert shown == pytest.approx(value, abs=0.06)
        assert low <= shown <= high


def test_a_run_that_kept_too_little_is_refused(tmp_path):
    with pytest.raises(InputError, match="kept no answers"):
        interval_table([made(tmp_path / "a", Made(answers=False))])
    with pytest.raises(InputError, match="split was not kept"):
        interval_table([made(tmp_path / "b", Made(splits=False))])


def test_intervals_are_printed(tmp_path, capsys):
    made(tmp_path / "run")
    main(["table", str(tmp_path / "run"), "--intervals", "--format", "csv"])
    assert capsys.readouterr().out.startswith("method,read-out,seed,session,All,Old,New\nfrozen,kmeans,0,2,")


def test_intervals_are_not_rows(tmp_path, capsys):
    made(tmp_path / "run")
    with pytest.raises(SystemExit):
        main(["table", str(tmp_path / "run"), "--intervals", "--format", "json"])
    assert "text, markdown, latex or csv" in capsys.readouterr().err
