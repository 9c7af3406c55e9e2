import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.spoken import said

from metagcd.cli.main import joined
from metagcd.errors import InputError

PROGRAM = [sys.executable, "-m", "metagcd"]
SMALL = ["method.offline_epochs=1", "method.online_updates=1", "seeds=[0]", "encoder.width=16", "encoder.depth=1"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rum"], "Did you mean `run`?"),
        (["run"], "Name a preset"),
        (["run", "gdc-digits"], "Did you mean `gcd-digits`?"),
        (["run", "gcd-digits", "method.offline_epoch=3"], "Did you mean `method.offline_epochs`?"),
        (["run", "gcd-digits", "method.balance=much"], "`method.balance` must be number; got 'much'"),
        (["run", "gcd-digits", "encoder.name=tinny"], "Did you mean `tiny`?"),
        (["run", "gcd-digits", "seeds=[]"], "`seeds`"),
        (["run", "gcd-digits", "--config", "none.toml"], "none.toml: No such file"),
        (["run", "gcd-digits", "--split", "none.json"], "none.json"),
        (["run", "gcd-digits", "--quit"], "--quiet"),
        (["run", "gcd-digits", "--device", "gpu"], "auto"),
        (["table"], "Name one or more run directories"),
        (["table", "nowhere"], "nowhere holds no run"),
        (["report", "nowhere"], "nowhere holds no run"),
        (["list"], "list methods"),
        (["list", "method"], "list methods"),
        (["data", "get", "cifar1000"], "Did you mean `cifar100`?"),
        (["inspect", "nowhere/at/all"], "nowhere/at/all"),
        (["split", "gcd-digits", "protocol.known=30"], "33 classes"),
        (["split", "gcd-digits", "protocol.novel_images=[900]"], "`novel_images`"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_with_exit_code_2(capsys, words, told):
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("metagcd: ")
    assert err.count("\n") == 1
    assert told in err
    assert not list(Path().iterdir())


def test_groups_of_commands_take_their_command_as_a_second_word():
    assert joined(["data", "get", "x"]) == ["data get", "x"]
    assert joined(["run", "x"]) == ["run", "x"]
    with pytest.raises(InputError, match="metagcd data get"):
        joined(["data"])


def test_the_version_is_told(capsys):
    assert said(capsys, "--version")[:2] == (0, "metagcd 0.1.0\n")


def test_without_a_command_the_help_is_shown(capsys):
    code, out, _ = said(capsys)
    assert code == 0
    assert "demo" in out


@pytest.mark.parametrize("words", [["--help"], ["list", "methods"], ["list", "presets"], ["list", "sources"]])
def test_help_and_lists_do_not_import_torch(words):
    code = (
        "import sys\nfrom metagcd.cli.main import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules and 'timm' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_a_run_can_be_listed_tabled_repeated_and_continued(capsys):
    code, out, err = said(capsys, "run", "gcd-digits", *SMALL, "--directory", "a", "--quiet")
    assert (code, err) == (0, "")
    assert "All 3" in out
    assert said(capsys, "run", "--config", "a/config.toml", "--quiet")[1] == out
    code, again, _ = said(capsys, "run", "--config", "a/config.toml", "--directory", "b", "--json")
    assert code == 0
    rows = [json.loads(line) for line in again.splitlines()]
    first = [json.loads(line) for line in said(capsys, "table", "a", "--format", "json")[1].splitlines()]
    for row in rows + first:
        row.pop("seconds")
        row.pop("run")
    assert rows == first
    assert len(rows) == 4 * 4 * 3  # sessions, partitions with assignments, read-outs
    assert "\\toprule" in said(capsys, "table", "a", "b", "--format", "latex")[1]
    assert "seconds offline" in said(capsys, "table", "a", "--cost")[1]


def test_a_manifest_is_written_and_used(capsys):
    code, out, _ = said(capsys, "split", "frozen-digits", "--seed", "5", "--output", "s.json")
    assert code == 0
    digest = json.loads(Path("s.json").read_text())["digest"]
    assert digest in out
    rows = said(capsys, "run", "frozen-digits", "seeds=[0]", "--split", "s.json", "--json")[1]
    assert {json.loads(row)["protocol"] for row in rows.splitlines()} == {digest}


def test_the_configuration_is_shown_with_every_key_explained_and_can_be_read_back(capsys):
    code, out, _ = said(capsys, "config", "gcd-digits", "method.balance=0.5")
    assert code == 0
    Path("c.toml").write_text(out)
    assert said(capsys, "config", "--config", "c.toml")[1] == out
    assert "balance = 0.5" in out
    assert out.count("#") > out.count(" = ")


def test_an_interrupted_run_says_how_to_go_on_and_goes_on(tmp_path):
    words = ["run", "gcd-digits", "seeds=[0]", "method.offline_epochs=2000", "--directory", "a"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*PROGRAM, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        while not Path("a/seed-0/split.json").exists():
            time.sleep(0.05)
            assert process.poll() is None
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "metagcd: Interrupted. Continue with: metagcd run --config a/config.toml"
    assert "Traceback" not in err


def test_doctor_names_versions_devices_data_and_weights(capsys):
    code, out, _ = said(capsys, "doctor", "--json")
    facts = json.loads(out)
    assert code == 0
    assert {"python", "torch", "cuda", "memory", "weights of a package", "data cifar100"} <= facts.keys()
