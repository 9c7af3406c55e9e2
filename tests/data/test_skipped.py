"""The list of skipped files survives odd names."""

import csv

from data import corpus

from metagcd.data.skipped import write_skipped_csv
from metagcd.types import Skipped


def test_names_with_newlines_quotes_and_commas_come_back(tmp_path):
    names = [name for name in corpus.odd_names() if name.isprintable() or "\n" in name]
    write_skipped_csv(tmp_path / "new" / "skipped.csv", [Skipped(path=name, reason="a, b") for name in names])
    with (tmp_path / "new" / "skipped.csv").open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == [["path", "reason"], *([name, "a, b"] for name in names)]


def test_bytes_that_are_no_text_are_escaped(tmp_path):
    write_skipped_csv(tmp_path / "skipped.csv", [Skipped(path="\udce9.png", reason="bad")])
    assert (tmp_path / "skipped.csv").read_text(encoding="utf-8") == "path,reason\n\\udce9.png,bad\n"
    assert [path.name for path in tmp_path.iterdir()] == ["skipped.csv"]
