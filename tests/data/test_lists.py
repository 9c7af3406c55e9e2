"""Tables of paths are read as they are, or refused in one line."""

import pytest

from metagcd.data.lists import read_csv, read_parquet, text_of
from metagcd.errors import InputError


def test_quoted_newlines_byte_order_marks_and_odd_bytes_survive(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'\xef\xbb\xbfpath,label\r\n"a\nb, c",1\r\n\r\n\xe9.png,2\r\n')
    assert read_csv(tmp_path / "t.csv", ["path"]) == {"path": ["a\nb, c", "\udce9.png"], "label": ["1", "2"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "has no column `path`; the columns are: none"),
        ("file,label\na,b\n", "has no column `path`; the columns are: file, label"),
        ("path,label\na,b\nc\n", "line 3: 1 values; the first line names 2"),
        ('path,label\n"a,b\n', "is not valid CSV"),
    ],
)
def test_a_table_that_is_none_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=words) as caught:
        read_csv(tmp_path / "t.csv", ["path"])
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(InputError, match=r"t\.parquet' as Parquet") as caught:
        read_parquet(tmp_path / "t.parquet", ["path"], ["path"])
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="gone' as Parquet: "):
        read_parquet(tmp_path / "gone", ["path"], ["path"])
    with pytest.raises(InputError, match="gone': No such file"):
        text_of(tmp_path / "gone")
