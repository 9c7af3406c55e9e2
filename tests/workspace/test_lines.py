import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from metagcd.errors import InputError
from metagcd.workspace.lines import COLUMNS, format_of, printable, streamed, whole, written

BLOCKS = [
    (["a.png", 'b "c", d.png'], ["ant", None], ["Ant", None], ["known", "unsure"], [0.98765, 0.5], [0.1, 0.25]),
    (["é.png"], ["novel-0001"], ["a\nb"], ["new"], [0.7], [1.0]),
]
LINES = [
    ("a.png", "ant", "Ant", "known", 0.9877, 0.1),
    ('b "c", d.png', None, None, "unsure", 0.5, 0.25),
    ("é.png", "novel-0001", "a\nb", "new", 0.7, 1.0),
]


def wrote(path, form):
    with written(path, form, COLUMNS) as write:
        for block in BLOCKS:
            write(block)
    return path


def test_csv_is_read_back_by_any_reader(tmp_path):
    with wrote(tmp_path / "x.csv", "csv").open(newline="", encoding="utf-8") as stream:
        header, *lines = csv.reader(stream)
    assert tuple(header) == COLUMNS
    assert [tuple(line) for line in lines] == [tuple("" if v is None else str(v) for v in line) for line in LINES]


def test_json_lines_hold_an_object_each(tmp_path):
    lines = [json.loads(line) for line in wrote(tmp_path / "x.jsonl", "jsonl").read_text().splitlines()]
    assert [tuple(line.values()) for line in lines] == LINES
    assert all(tuple(line) == COLUMNS for line in lines)


def test_parquet_keeps_kinds_and_absent_values(tmp_path):
    table = pq.read_table(wrote(tmp_path / "x.parquet", "parquet"))
    assert table.column_names == list(COLUMNS)
    assert table["class"].to_pylist() == ["ant", None, "novel-0001"]
    assert table["confidence"].to_pylist() == pytest.approx([0.98765, 0.5, 0.7])
    assert table.schema.field("confidence").type == "float"


def test_a_stream_stays_open_and_gets_lines_as_they_come():
    stream = io.BytesIO()
    with streamed(stream, "csv", COLUMNS) as write:
        write(BLOCKS[0])
        assert stream.getvalue().count(b"\n") == 3
    assert not stream.closed


def test_parquet_does_not_go_to_standard_output():
    with pytest.raises(InputError, match="--output"), streamed(io.BytesIO(), "parquet", COLUMNS):
        pass


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_file_appears_whole_or_not_at_all(form, tmp_path):
    path = tmp_path / "x"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(path, form)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def _interrupted(path, form):
    with written(path, form, COLUMNS) as write:
        write(BLOCKS[0])
        raise KeyboardInterrupt


def test_where_nothing_can_be_written_one_line_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot write"), whole(tmp_path / "file" / "x.csv"):
        pass


@pytest.mark.parametrize(
    ("output", "chosen", "form"),
    [("-", "", "csv"), ("x.PARQUET", "", "parquet"), ("x.txt", "jsonl", "jsonl"), ("-", "jsonl", "jsonl")],
)
def test_the_format_is_what_was_chosen_or_the_ending(output, chosen, form):
    assert format_of(output, chosen) == form


@pytest.mark.parametrize("output", ["x", "x.xlsx"])
def test_an_unknown_ending_is_named_with_what_there_is(output):
    with pytest.raises(InputError, match="csv"):
        format_of(output)


def test_a_path_that_is_no_text_can_be_printed():
    assert printable("a\udcff.png").encode() == b"a\\xff.png"
