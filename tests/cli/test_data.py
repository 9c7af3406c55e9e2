from pathlib import Path

import pytest
import tyro

from metagcd.cli import data
from metagcd.errors import InputError


def test_getting_what_is_there_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "CUB_200_2011").mkdir()
    data.get("cub200", data_root=str(tmp_path), quiet=True)
    assert capsys.readouterr().out == f"cub200 is in {tmp_path / 'CUB_200_2011'}.\n"


def test_what_was_withdrawn_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="withdrew"):
        data.get("stanford_cars", data_root=str(tmp_path))


def test_the_list_shows_what_is_here_and_how_to_get_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "CUB_200_2011").mkdir()
    (tmp_path / "cifar-100-python.tar.gz").touch()
    data.ls(data_root=str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines[1:] if line}
    assert str(tmp_path) in lines[0]
    assert str(tmp_path / "CUB_200_2011") in rows["cub200"]
    assert str(tmp_path / "cifar-100-python.tar.gz") in rows["cifar100"]
    assert "metagcd data get tiny_imagenet" in rows["tiny_imagenet"]
    assert "image-net.org" in rows["imagenet100"]


def test_the_signature_makes_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "CUB_200_2011").mkdir()
    tyro.cli(data.get, args=["cub200", "--data-root", str(tmp_path), "--quiet"])
    assert str(tmp_path) in capsys.readouterr().out
