"""The command prints what a source holds and writes two files."""

import csv
import json
import subprocess
import sys

import pytest
import tyro
from data import corpus
from PIL import Image

from metagcd.cli.inspect import inspect
from metagcd.errors import InputError


def _folder(root):
    files = {f"{name}/{n}.png": corpus.plain(n) for name in ("[red]a", "caf\udce9") for n in range(3)}
    return corpus.write(root / "birds", files | {"[red]a/bad.png": b"bad"})


def test_a_folder_is_shown_as_a_table_beside_a_sheet_and_a_list(tmp_path, monkeypatch, capsys):
    _folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    inspect("birds")
    text = capsys.readouterr().out
    for words in ("[red]a", "caf\\xe9", "6 images", "median 8", "3 groups of equal files, 3 across", "1 files skipped"):
        assert words in text
    with Image.open(tmp_path / "inspect-birds" / "contact-sheet.png") as sheet:
        assert sheet.format == "PNG"
    with (tmp_path / "inspect-birds" / "skipped.csv").open(newline="") as stream:
        assert list(csv.reader(stream))[1] == ["birds/[red]a/bad.png", "not an image of a known format"]


def test_json_holds_the_same(tmp_path, capsys):
    inspect(str(_folder(tmp_path)), output=str(tmp_path / "out"), json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["images"] == 6
    assert found["classes"][0] == {"name": "[red]a", "train": 2, "test": 1}
    assert len(found["duplicates"]) == 3


def test_a_strict_inspection_stops_at_a_bad_file(tmp_path):
    with pytest.raises(InputError, match=r"bad\.png"):
        inspect(str(_folder(tmp_path)), output=str(tmp_path / "out"), strict=True)
    assert not (tmp_path / "out").exists()


def test_a_registered_source_and_unlabelled_images_are_shown(tmp_path, capsys):
    inspect("digits", output=str(tmp_path / "digits"))
    assert "1797 images" in capsys.readouterr().out
    corpus.write(tmp_path / "flat", {"x.png": corpus.plain(0)})
    inspect(str(tmp_path / "flat"), output=str(tmp_path / "out"), check="header")
    assert "1 images" in capsys.readouterr().out


def test_it_is_a_command_line(tmp_path, capsys):
    source = str(_folder(tmp_path))
    tyro.cli(inspect, args=[source, "--output", str(tmp_path / "out"), "--json"])
    assert json.loads(capsys.readouterr().out)["images"] == 6


def test_its_module_imports_nothing_heavy():
    heavy = "{'torch', 'numpy', 'pyarrow', 'PIL'} & set(sys.modules)"
    code = f"import sys, metagcd.cli.inspect; sys.exit(str({heavy} or ''))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).stderr == b"\n"
