import hashlib
import json
from dataclasses import replace

import contract
import numpy as np
import pytest
from experiment.small import HARDWARE, SOURCE, SPEC, config, timeless

from metagcd.config import read_toml
from metagcd.data import load
from metagcd.data.sources.digits import DigitsConfig
from metagcd.errors import InputError
from metagcd.evaluate import clustering_accuracy
from metagcd.experiment.config import RunConfig
from metagcd.experiment.run import run
from metagcd.models import encoder_of
from metagcd.models.weights import save_weights
from metagcd.protocol import read_manifest, split, write_manifest
from metagcd.runs import existing_run
from metagcd.seeds import Seeds


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of each method that nobody interrupted."""
    root = tmp_path_factory.mktemp("whole")
    return {name: run(config(name), directory=root / name, hardware=HARDWARE) for name in ("frozen", "gcd")}


@pytest.mark.parametrize("method", ["frozen", "gcd"])
def test_a_run_has_rows_for_every_seed_session_partition_and_assignment(tmp_path, method):
    results = run(config(method, seeds=(4, 2)), root=tmp_path, hardware=HARDWARE)
    found = {(row.seed, row.session, row.partition, row.assignment, row.readout) for row in results.rows}
    readouts = contract.new(method).readouts
    expected = {
        (seed, session, partition, assignment, readout)
        for seed in (2, 4)
        for session in (0, 1, 2)
        for partition in ("initial", "previous")
        for assignment in ("global", "split")
        for readout in readouts
    }
    assert found == expected
    assert len(results.rows) == len(expected)
    assert results.directory == tmp_path / f"{method}-digits-{config(method, seeds=(4, 2)).digest}"
    assert {row.run for row in results.rows} == {results.directory.name}
    assert {(row.method, row.data) for row in results.rows} == {(method, "digits")}
    assert {(row.session, row.classes) for row in results.rows} == {(0, 3), (1, 4), (2, 5)}
    assert [line[1] for line in results.table().lines] == list(readouts)
    assert results._repr_markdown_() == results.table().markdown()


@pytest.mark.parametrize("method", ["frozen", "gcd"])
def test_every_score_follows_from_the_predictions_that_are_kept(whole, method):
    data, results = load(SOURCE), whole[method]
    protocol = read_manifest(results.directory / "seed-0" / "split.json", source_fingerprint=data.fingerprint)
    tests = [protocol.offline_test, *(session.test for session in protocol.sessions)]
    for row in results.rows:
        kept = np.load(results.directory / "seed-0" / f"session-{row.session}.npz")
        np.testing.assert_array_equal(kept["truth"], data.test_labels[tests[row.session]])  # natural class order
        old = 3 if row.partition == "initial" or row.session == 0 else 2 + row.session
        scores = clustering_accuracy(kept["truth"], kept[row.readout], range(old), assignment=row.assignment)
        np.testing.assert_allclose((row.all, row.old, row.new), (scores.all, scores.old, scores.new), rtol=1e-12)
        assert np.isnan(row.new) == (row.session == 0)
        assert 100 / row.classes < row.all <= 100
        assert row.protocol == protocol.digest


def test_classes_are_numbered_as_they_are_met(tmp_path):
    spec = replace(SPEC, class_order=(9, 0, 8, 1, 7))
    results = run(config(protocol=spec), directory=tmp_path / "run", hardware=HARDWARE)
    truth = np.load(results.directory / "seed-0" / "session-2.npz")["truth"]
    labels = load(SOURCE).test_labels
    counts = [np.count_nonzero(labels == label) for label in (9, 0, 8, 1, 7)]
    assert np.bincount(truth).tolist() == counts


def test_only_the_last_state_of_a_learner_is_kept(whole):
    files = {file.name for file in (whole["gcd"].directory / "seed-0").iterdir()}
    sessions = {f"session-{session}.{end}" for session in range(3) for end in ("npz", "rows.jsonl")}
    assert files == {*sessions, "session-2.safetensors", "split.json", "weights.json", "metrics.jsonl"}


def test_a_run_can_be_repeated_from_its_own_configuration(tmp_path, whole):
    chosen = read_toml(RunConfig(), whole["gcd"].directory / "config.toml")
    assert chosen == config("gcd")
    assert timeless(run(chosen, root=tmp_path, hardware=HARDWARE)) == timeless(whole["gcd"])


@pytest.mark.parametrize("method", ["frozen", "gcd"])
def test_rows_do_not_depend_on_the_number_of_threads(tmp_path, whole, method):
    other = replace(HARDWARE, threads=4)
    assert timeless(run(config(method), directory=tmp_path / "run", hardware=other)) == timeless(whole[method])


def test_a_seed_has_the_same_rows_alone_and_among_others(tmp_path, whole):
    results = run(config("gcd", seeds=(3, 0)), directory=tmp_path / "run", hardware=HARDWARE)
    own = replace(results, rows=tuple(row for row in results.rows if row.seed == 0))
    other = replace(results, rows=tuple(replace(row, seed=0) for row in results.rows if row.seed == 3))
    assert timeless(own) == timeless(whole["gcd"]) != timeless(other)


def test_every_seed_has_the_same_split_unless_the_split_follows_the_seed(tmp_path):
    for split_seed, protocols in ((0, 1), (None, 2)):
        results = run(config(seeds=(0, 1), split_seed=split_seed), root=tmp_path, hardware=HARDWARE)
        assert len({row.protocol for row in results.rows}) == protocols


def test_a_split_that_is_given_is_used(tmp_path):
    data, file = load(SOURCE), tmp_path / "split.json"
    protocol = split(data.train_labels, data.test_labels, replace(SPEC, novel=(2,)), 7)
    write_manifest(file, protocol, source_fingerprint=data.fingerprint)
    results = run(config(split=str(file)), root=tmp_path, hardware=HARDWARE)
    assert {row.protocol for row in results.rows} == {protocol.digest}
    assert {(row.session, row.classes) for row in results.rows} == {(0, 3), (1, 5)}
    assert (results.directory / "seed-0" / "split.json").read_text() == file.read_text()


def test_a_split_of_other_data_is_refused(tmp_path):
    data, file = load(DigitsConfig()), tmp_path / "split.json"
    write_manifest(file, split(data.train_labels, data.test_labels, SPEC, 0), source_fingerprint=data.fingerprint)
    with pytest.raises(InputError, match=r"split\.json cannot be used. It was made for other data"):
        run(config(split=str(file)), root=tmp_path, hardware=HARDWARE)
    with pytest.raises(InputError, match=r"absent\.json"):
        run(config(split=str(tmp_path / "absent.json")), root=tmp_path, hardware=HARDWARE)


def test_a_run_does_not_go_on_with_another_split_or_other_data(tmp_path):
    data, file, path = load(SOURCE), tmp_path / "split.json", tmp_path / "run"
    chosen = config(split=str(file))
    for seed in (0, 1):
        protocol = split(data.train_labels, data.test_labels, SPEC, seed)
        write_manifest(file, protocol, source_fingerprint=data.fingerprint)
        if seed == 0:
            run(chosen, directory=path, hardware=HARDWARE)
    with pytest.raises(InputError, match=r"begun with the split .*seed-0/split\.json, which is another one"):
        run(chosen, directory=path, hardware=HARDWARE)
    run(config(), directory=tmp_path / "drawn", hardware=HARDWARE)
    with pytest.raises(InputError, match="made for other data"):
        run(config(), directory=tmp_path / "drawn", data=replace(data, fingerprint="other"), hardware=HARDWARE)


def test_a_directory_holds_one_configuration(tmp_path):
    run(config(), directory=tmp_path / "run", hardware=HARDWARE)
    with pytest.raises(InputError, match="another configuration"):
        run(config(seeds=(1,)), directory=tmp_path / "run", hardware=HARDWARE)


def test_a_learner_that_is_not_told_counts_the_classes(tmp_path):
    results = run(config(novel_given=False), directory=tmp_path / "run", hardware=HARDWARE)
    classes = {row.session: row.classes for row in results.rows}
    assert classes[0] == 3
    assert 3 <= classes[1] <= classes[2]
    assert classes[2] == np.load(results.directory / "seed-0" / "session-2.npz")["kmeans"].max() + 1


def test_what_the_result_depends_on_is_recorded(whole):
    about = existing_run(whole["gcd"].directory).about()
    assert about["source_fingerprint"] == load(SOURCE).fingerprint
    assert about["device"] == "cpu"


def test_the_origin_of_the_weights_is_kept_with_its_checksums(tmp_path):
    file = tmp_path / "net.safetensors"
    save_weights(encoder_of(contract.ENCODER, Seeds(5)), file)
    chosen = config(encoder=replace(contract.ENCODER, weights=str(file)))
    run(chosen, directory=tmp_path / "run", hardware=HARDWARE)
    record = json.loads((tmp_path / "run" / "seed-0" / "weights.json").read_text())
    assert record["source"] == str(file)
    assert record["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert record["tensors"] == encoder_of(chosen.encoder, Seeds(0)).weights.tensors
    (tmp_path / "run" / "seed-0" / "session-2.rows.jsonl").unlink()
    save_weights(encoder_of(contract.ENCODER, Seeds(6)), file)
    with pytest.raises(InputError, match=r"begun with the weights in .*weights\.json"):
        run(chosen, directory=tmp_path / "run", hardware=HARDWARE)
