import json

import numpy as np
import pytest
from report.cases import Made, made

from metagcd.cli.main import main
from metagcd.cli.scores import Agreement, agreement_table, agreements
from metagcd.errors import InputError

SHORT = ("NMI", "ARI", "AUROC", "FPR95")


def test_agreement_is_that_of_scikit_learn_for_every_seed_and_session(tmp_path):
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    run = made(tmp_path / "run", Made(features=True))
    found = agreements([run])
    assert [(one.seed, one.session, one.readout) for one in found] == [
        (seed, session, "kmeans") for seed in (0, 1) for session in (0, 1, 2)
    ]
    for one in found:
        kept = np.load(run.seed(one.seed) / f"session-{one.session}.npz")
        assert one.nmi == pytest.approx(100 * normalized_mutual_info_score(kept["truth"], kept["kmeans"]))
        assert one.ari == pytest.approx(100 * adjusted_rand_score(kept["truth"], kept["kmeans"]))


def test_the_table_has_mean_and_spread_over_seeds():
    shared = {"run": "a", "method": "gcd", "session": 1, "readout": "kmeans"}
    table = agreement_table([Agreement(seed=seed, nmi=70.0 + 2 * seed, ari=50.0, **shared) for seed in (0, 1)])
    assert table.header == ("method", "read-out", "NMI 1", "ARI 1")
    assert table.lines == (("gcd", "kmeans", "71.0 ± 1.4", "50.0 ± 0.0"),)


def test_runs_that_kept_no_answers_are_refused(tmp_path):
    with pytest.raises(InputError, match="kept no answers"):
        agreements([made(tmp_path / "run", Made(answers=False))])


@pytest.mark.parametrize(("form", "told"), [("text", "NMI 2"), ("markdown", "| NMI 2 |"), ("csv", "NMI 2,ARI 2")])
def test_scores_are_printed_in_every_form(tmp_path, capsys, form, told):
    made(tmp_path / "run")
    main(["table", str(tmp_path / "run"), "--scores", "--format", form])
    assert told in capsys.readouterr().out


def test_json_has_a_line_per_seed_session_and_readout(tmp_path, capsys):
    made(tmp_path / "run")
    main(["table", str(tmp_path / "run"), "--scores", "--format", "json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["seed"], line["session"]) for line in lines] == [(s, t) for s in (0, 1) for t in (0, 1, 2)]
    assert all(0 < line[key] < 100 for line in lines for key in ("nmi", "ari"))


def test_known_or_novel_is_told_beside_agreement_where_it_was_kept(tmp_path, capsys):
    run = made(tmp_path / "run", Made(spotted=True))
    table = agreement_table(agreements([run]))
    assert table.header[2:] == ("NMI 0", "ARI 0", *(f"{name} {t}" for t in (1, 2) for name in SHORT))
    assert table.lines[0][6:8] == ("91.0 ± 1.4", "30.0 ± 0.0")
    assert "AUROC" in table.notes[0]
    main(["table", str(tmp_path / "run"), "--scores", "--format", "json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["auroc"] for line in lines] == [None, 90.0, 90.0, None, 92.0, 92.0]
