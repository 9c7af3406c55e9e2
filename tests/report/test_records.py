import numpy as np
import pytest
from report.cases import Made, made

from metagcd.errors import InputError
from metagcd.report.records import read_records


def test_a_record_holds_what_the_files_of_the_run_say(tmp_path):
    run = made(tmp_path / "run")
    (record,) = read_records([run])
    assert record.label == "frozen"
    assert len(record.rows) == 2 * 3 * 4
    assert record.known == 3
    assert record.class_order == (0, 1, 2, 3, 4)
    assert record.source == {"name": "arrays"}
    assert [(a.seed, a.session, a.readout, len(a.truth)) for a in record.answers] == [
        (0, 2, "kmeans", 60),
        (1, 2, "kmeans", 60),
    ]


def test_runs_of_one_method_are_told_apart_by_their_directories(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        made(path)
    records = read_records(paths)
    assert [record.label for record in records] == ["frozen (one)", "frozen (two)"]
    assert {row.method for row in records[1].rows} == {"frozen (two)"}


def test_directories_of_one_name_are_numbered(tmp_path):
    paths = [tmp_path / "a" / "run", tmp_path / "b" / "run"]
    for path in paths:
        made(path)
    assert [record.label for record in read_records(paths)] == ["frozen (run) #1", "frozen (run) #2"]


def test_no_run_is_refused():
    with pytest.raises(InputError, match="no run to report on"):
        read_records([])


def test_a_directory_without_a_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        read_records([tmp_path / "nowhere"])


def test_a_run_without_a_finished_session_is_refused(tmp_path):
    made(tmp_path / "run", Made(seeds=()))
    with pytest.raises(InputError, match="no finished session"):
        read_records([tmp_path / "run"])


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short"])
def test_a_damaged_file_of_answers_is_named(tmp_path, content):
    run = made(tmp_path / "run")
    file = run.seed(1) / "session-2.npz"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"session-2\.npz is damaged"):
        read_records([run])


def test_answers_that_differ_in_length_are_refused(tmp_path):
    run = made(tmp_path / "run")
    np.savez(run.seed(0) / "session-2.npz", truth=np.zeros(3, dtype=np.int64), kmeans=np.zeros(2, dtype=np.int64))
    with pytest.raises(InputError, match="differ in length"):
        read_records([run])


def test_a_run_without_splits_and_answers_still_has_its_rows(tmp_path):
    (record,) = read_records([made(tmp_path / "run", Made(splits=False, answers=False))])
    assert record.rows
    assert record.answers == ()
    assert record.class_order is None
    assert record.known is None
