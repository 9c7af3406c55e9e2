import numpy as np
import pytest
from report.cases import Made, made

from metagcd.errors import InputError
from metagcd.report.records import read_records
from metagcd.types import Skipped


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


def test_features_of_the_first_seed_come_with_their_classes_and_are_no_readout(tmp_path):
    (record,) = read_records([made(tmp_path / "run", Made(features=True))])
    assert {answers.readout for answers in record.answers} == {"kmeans"}
    assert (record.sample.seed, record.sample.session) == (0, 2)
    assert record.sample.points.shape == (60, 5)
    np.testing.assert_array_equal(record.sample.truth, record.answers[0].truth)
    (other,) = read_records([made(tmp_path / "other")])
    assert other.sample is None


@pytest.mark.parametrize("rows", [[0, 1], [0, 1, 3], [0, -1, 2]])
def test_features_that_do_not_fit_their_rows_are_refused(tmp_path, rows):
    run = made(tmp_path / "run")
    ids = np.zeros(3, dtype=np.int64)
    np.savez(
        run.seed(0) / "session-2.npz",
        truth=ids,
        kmeans=ids,
        map_rows=np.array(rows),
        map_points=np.zeros((3, 2), dtype=np.float16),
    )
    with pytest.raises(InputError, match="features and rows do not fit"):
        read_records([run])


def test_skipped_files_are_counted_and_the_first_are_named(tmp_path):
    skipped = tuple(Skipped(path=f'{place}, "odd"\nname.png', reason="truncated") for place in range(7))
    (record,) = read_records([made(tmp_path / "run", Made(skipped=skipped))])
    assert record.skipped == 7
    assert record.first_skipped == skipped[:5]


@pytest.mark.parametrize("content", ["", "path,reason\none\n"])
def test_a_damaged_list_of_skipped_files_is_named(tmp_path, content):
    run = made(tmp_path / "run")
    (run.path / "skipped.csv").write_text(content)
    with pytest.raises(InputError, match=r"skipped\.csv is damaged"):
        read_records([run])
