import csv

import pyarrow.parquet as pq
import pytest

from metagcd.errors import InputError
from metagcd.workspace.catalogue import reading


def lines(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_there_is_a_line_for_every_image_of_every_session(workspace, tmp_path):
    words = workspace.export("csv", tmp_path / "all.csv")
    found = lines(tmp_path / "all.csv")
    with reading(workspace.folder) as catalogue:
        count = sum(len(block) for block in catalogue.images())
    assert len(found) == count > 24
    assert words == f"{count} images"
    assert {line["session"] for line in found} >= {"1"}
    assert all(line["verdict"] in {"known", "unsure", "new"} for line in found)


def test_a_session_can_be_chosen(workspace, tmp_path):
    workspace.export("csv", tmp_path / "one.csv", session=1)
    found = lines(tmp_path / "one.csv")
    assert len(found) == 24
    assert {line["session"] for line in found} == {"1"}
    with pytest.raises(InputError, match="no session 7; the last one is 1"):
        workspace.export("csv", tmp_path / "none.csv", session=7)


def test_parquet_holds_the_same_lines(workspace, tmp_path):
    workspace.export("csv", tmp_path / "a.csv")
    workspace.export("parquet", tmp_path / "a.parquet")
    table, found = pq.read_table(tmp_path / "a.parquet"), lines(tmp_path / "a.csv")
    for name in ("path", "class", "name", "verdict"):
        assert [one or "" for one in table[name].to_pylist()] == [line[name] for line in found]


def test_names_are_the_present_ones(workspace, tmp_path):
    workspace.rename("ant", "formica")
    try:
        workspace.export("csv", tmp_path / "a.csv", session=1)
        assert {line["name"] for line in lines(tmp_path / "a.csv") if line["class"] == "ant"} <= {"formica"}
    finally:
        workspace.undo()


def test_an_unknown_format_or_setting_is_named_with_what_there_is(workspace, tmp_path):
    with pytest.raises(InputError, match="parquet"):
        workspace.export("parqet", tmp_path / "a")
    with pytest.raises(InputError, match="how"):
        workspace.export("tree", tmp_path / "a", settings={"hwo": "copy"})
