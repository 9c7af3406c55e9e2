import csv
import io
import json
import math
from dataclasses import asdict, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import row

from metagcd.errors import InputError
from metagcd.results import (
    FORMATS,
    Row,
    Table,
    cell,
    cost_table,
    from_json,
    pick,
    session_table,
    stage_table,
    to_csv,
    to_json,
)

NAN = float("nan")
# Two methods, two seeds, two sessions; every number below is worked out by hand from these.
ROWS = [
    row(method=method, seed=seed, session=session, new=new, all=score, old=score + 1, seconds=float(session + seed))
    for method, base in (("gcd", 70.0), ("meta_gcd", 80.0))
    for seed in (0, 1)
    for session, score, new in ((0, base, NAN), (1, base + 2 * seed, 50.0), (2, base - 4 * seed, 40.0 + seed))
]


def same(one, other):
    return all(a == b or (a != a and b != b) for a, b in zip(asdict(one).values(), asdict(other).values(), strict=True))


scores = st.floats(0, 100) | st.just(NAN)


@given(
    st.lists(st.builds(row, all=scores, old=scores, new=scores, seed=st.integers(0, 9), method=st.text()), max_size=4)
)
def test_rows_survive_a_file(rows):
    found = from_json(to_json(rows))
    assert len(found) == len(rows)
    assert all(same(one, other) for one, other in zip(found, rows, strict=True))


def test_the_file_is_strict_json_line_by_line_with_null_for_no_number():
    lines = to_json([row(), row(new=3.25)]).splitlines()
    assert [json.loads(line, parse_constant=pytest.fail)["new"] for line in lines] == [None, 3.25]


@pytest.mark.parametrize("text", ["{", "3", "[1]", '{"run": "a"}', '{"unknown": 1}', "null"])
def test_a_file_of_other_things_is_named(text):
    with pytest.raises(InputError, match=r"file\.jsonl does not hold rows of this version"):
        from_json(text, origin="file.jsonl")


def test_comma_separated_rows_hold_every_column_and_leave_out_what_is_no_number():
    lines = list(csv.reader(io.StringIO(to_csv([row(method='a,"b"')]))))
    assert lines[0] == [field.name for field in fields(Row)]
    table = dict(zip(*lines, strict=True))
    assert (table["method"], table["all"], table["new"], table["memory"]) == ('a,"b"', "70.0", "", "2000000")


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=6), st.integers(0, 3))
def test_a_cell_is_mean_and_sample_standard_deviation_of_what_is_a_number(values, gaps):
    found = cell([*values, *[NAN] * gaps])
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert found.spread == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert found.count == len(values)


def test_a_cell_shows_a_spread_only_where_there_are_several_numbers():
    assert cell([70.0, 74.0]).text() == "72.0 ± 2.8"
    assert cell([70.0, 74.0]).text("+-") == "72.0 +- 2.8"
    assert cell([70.04]).text() == "70.0"
    assert cell([]).text() == cell([NAN, NAN]).text() == "-"
    assert math.isnan(cell([]).mean)


def test_the_session_table_is_the_one_worked_out_by_hand():
    table = session_table(ROWS)
    assert table.header == ("method", "read-out", "All 1", "Old 1", "New 1", "All 2", "Old 2", "New 2")
    assert table.lines == (
        ("gcd", "kmeans", "71.0 ± 1.4", "72.0 ± 1.4", "50.0 ± 0.0", "68.0 ± 2.8", "69.0 ± 2.8", "40.5 ± 0.7"),
        ("meta_gcd", "kmeans", "81.0 ± 1.4", "82.0 ± 1.4", "50.0 ± 0.0", "78.0 ± 2.8", "79.0 ± 2.8", "40.5 ± 0.7"),
    )
    words = ("digits", "partition initial", "assignment global", "protocol p1", "2 seeds", "standard deviation")
    assert all(word in table.caption for word in words)


def test_only_rows_of_the_partition_and_assignment_asked_for_are_shown():
    rows = [
        row(session=1, all=10.0),
        row(session=1, all=20.0, partition="previous"),
        row(session=1, all=30.0, assignment="split"),
    ]
    assert session_table(rows).lines[0][2] == "10.0"
    assert session_table(rows, partition="previous").lines[0][2] == "20.0"
    assert session_table(rows, assignment="split").lines[0][2] == "30.0"
    assert session_table(rows, partition="previous", assignment="split").lines == ()


def test_session_0_is_shown_while_there_is_no_other():
    table = session_table([row()])
    assert table.header[2:] == ("All 0", "Old 0", "New 0")
    assert table.lines == (("gcd", "kmeans", "70.0", "80.0", "-"),)
    assert "1 seed " in table.caption


def test_a_table_of_nothing_is_empty():
    assert session_table([]).lines == ()
    assert cost_table([]).lines == ()


def test_the_cost_table_is_the_one_worked_out_by_hand():
    table = cost_table([line for line in ROWS if line.method == "gcd"])
    # Offline: seeds take 0 and 1 seconds. Online: 1, 2, 2, 3.
    assert table.lines == (("gcd", "0.5 ± 0.7", "2.0 ± 0.8", "2.00"),)


TABLE = Table("Scores in %.", ("method", "All_1"), (("a_b", "71.0 ± 1.4"), ("c&d", "-")))


def test_markdown_is_as_written_by_hand():
    assert FORMATS["markdown"](TABLE) == (
        "Scores in %.\n\n| method | All_1 |\n| --- | ---: |\n| a_b | 71.0 ± 1.4 |\n| c&d | - |\n"
    )


def test_latex_is_as_written_by_hand():
    assert FORMATS["latex"](TABLE) == (
        "\\begin{table}\n\\centering\n\\begin{tabular}{lr}\n\\toprule\nmethod & All\\_1 \\\\\n\\midrule\n"
        "a\\_b & 71.0 $\\pm$ 1.4 \\\\\nc\\&d & - \\\\\n\\bottomrule\n\\end{tabular}\n"
        "\\caption{Scores in \\%.}\n\\end{table}\n"
    )


def test_comma_separated_text_is_as_written_by_hand():
    assert FORMATS["csv"](TABLE) == "method,All_1\na_b,71.0 ± 1.4\nc&d,-\n"


def test_picking_wants_every_column_named_and_none_wants_anything():
    assert [line.seed for line in pick(ROWS, method="gcd", session=1)] == [0, 1]
    assert pick(ROWS, method=None) == tuple(ROWS)
    assert pick(ROWS, method="other") == ()


def test_every_session_has_its_time_over_seeds_and_its_bytes():
    lines = [line for line in ROWS if line.method == "gcd"]
    again = [replace(line, partition="previous") for line in lines if line.seed == 0]
    table = stage_table([*lines, *again])
    assert table.header == ("method", "session", "seconds", "bytes carried")
    assert table.lines == (
        ("gcd", "0", "0.5 ± 0.7", "2,000,000"),
        ("gcd", "1", "1.5 ± 0.7", "2,000,000"),
        ("gcd", "2", "2.5 ± 0.7", "2,000,000"),
    )
