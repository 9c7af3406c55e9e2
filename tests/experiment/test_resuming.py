import shutil

import contract
import pytest
from experiment.small import HARDWARE, Impatient, config, timeless, watched

from metagcd.errors import InputError
from metagcd.experiment.run import run
from metagcd.models.bank_config import BankConfig
from metagcd.results import to_json


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of each method that nobody interrupted."""
    root = tmp_path_factory.mktemp("whole")
    return {name: run(config(name), directory=root / name, hardware=HARDWARE) for name in ("frozen", "gcd")}


@pytest.mark.parametrize("at", [0, 2, 5, 9, 12])
def test_a_run_interrupted_within_a_session_goes_on_to_the_same_rows(tmp_path, whole, at):
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(config("gcd"), directory=path, data=watched(interrupt_at=at), hardware=HARDWARE)
    assert timeless(run(config("gcd"), directory=path, hardware=HARDWARE)) == timeless(whole["gcd"])


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_run_interrupted_at_an_examination_does_not_train_again(tmp_path, whole, at):
    path, rest = tmp_path / "run", watched()
    with pytest.raises(KeyboardInterrupt):
        run(config("gcd"), directory=path, data=watched(test_at=at), hardware=HARDWARE)
    resumed = run(config("gcd"), directory=path, data=rest, hardware=HARDWARE)
    assert timeless(resumed) == timeless(whole["gcd"])
    everything = watched()
    run(config("gcd"), directory=tmp_path / "other", data=everything, hardware=HARDWARE)
    assert contract.reads(rest.train) < contract.reads(everything.train)


@pytest.mark.parametrize("word", ["frozen-digits", "seed 0, session 0", "seed 0, session 2", "seed 1, session 0"])
def test_a_run_interrupted_between_sessions_goes_on_to_the_same_rows(tmp_path, word):
    chosen = config(seeds=(0, 1))
    expected = run(chosen, directory=tmp_path / "whole", hardware=HARDWARE)
    with pytest.raises(KeyboardInterrupt):
        run(chosen, directory=tmp_path / "run", hardware=HARDWARE, progress=Impatient(word=word))
    assert timeless(run(chosen, directory=tmp_path / "run", hardware=HARDWARE)) == timeless(expected)


def test_places_within_a_session_that_is_done_are_not_left_for_the_next(tmp_path, monkeypatch, whole):
    def killed(*arguments, **how):
        raise KeyboardInterrupt

    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            run(config("gcd"), directory=path, hardware=HARDWARE)
    assert list((path / "seed-0" / "stages").iterdir())
    with pytest.raises(KeyboardInterrupt):
        run(config("gcd"), directory=path, hardware=HARDWARE, progress=Impatient(word="session 0"))
    assert not (path / "seed-0" / "stages").exists()
    assert timeless(run(config("gcd"), directory=path, hardware=HARDWARE)) == timeless(whole["gcd"])


def test_a_configuration_with_a_key_that_was_taken_out_since_goes_on(tmp_path):
    first = run(config(), directory=tmp_path, hardware=HARDWARE)
    (tmp_path / "seed-0" / "session-2.rows.jsonl").unlink()
    kept = (tmp_path / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(kept.replace("[bank]\n", "[bank]\nbudget_gb = 20.0\n"))
    assert timeless(run(config(), directory=tmp_path, hardware=HARDWARE)) == timeless(first)
    with pytest.raises(InputError, match="another configuration"):
        run(config(split_seed=1), directory=tmp_path, hardware=HARDWARE)


def test_running_again_reads_nothing_and_gives_the_same_rows(tmp_path):
    path, data = tmp_path / "run", watched()
    first = run(config("gcd"), directory=path, hardware=HARDWARE)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("session-*")}
    again = run(config("gcd"), directory=path, data=data, hardware=HARDWARE)
    assert to_json(again.rows) == to_json(first.rows)
    assert (contract.reads(data.train), contract.reads(data.test)) == (0, 0)
    assert {file: file.stat().st_mtime_ns for file in path.rglob("session-*")} == before


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4, 5])
def test_a_run_interrupted_while_it_stores_trunk_outputs_goes_on_to_the_same_rows(tmp_path, monkeypatch, at):
    chosen, rows = config("gcd", bank=BankConfig(use="on", views=3)), []
    for name in ("whole", "run"):
        monkeypatch.setenv("METAGCD_CACHE", str(tmp_path / f"bank-{name}"))
        if name == "run":
            with pytest.raises(KeyboardInterrupt):
                run(chosen, directory=tmp_path / name, data=watched(interrupt_at=at), hardware=HARDWARE)
        rows.append(timeless(run(chosen, directory=tmp_path / name, hardware=HARDWARE)))
    assert rows[0] == rows[1]
    assert any((tmp_path / "bank-run").iterdir())
