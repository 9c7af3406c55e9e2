import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from protocol.cases import labelled_sets, repeated, shaped_like, spec_values

from metagcd.errors import InputError
from metagcd.protocol import ProtocolSpec, named_protocol, read_manifest, split, to_json, write_manifest

LABELS, TEST = repeated([50] * 6), repeated([5] * 6)
PROTOCOL = split(LABELS, TEST, ProtocolSpec(known=3, novel=(1, 1), novel_images=(20,), known_images=(16,)), 7)
TEXT = to_json(PROTOCOL, source_fingerprint="abc")


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "protocol.json"
    write_manifest(path, PROTOCOL, source_fingerprint="abc")
    return path


@given(labelled_sets(), spec_values())
def test_a_protocol_comes_back_equal(tmp_path_factory, sets, values):
    spec = ProtocolSpec(**values)
    path = tmp_path_factory.mktemp("manifest") / "protocol.json"
    written = split(*sets, spec, 1)
    write_manifest(path, written, source_fingerprint="f")
    read = read_manifest(path, source_fingerprint="f", labels=sets[0], test_labels=sets[1])
    assert (read.spec, read.seed, read.digest, read.class_order) == (spec, 1, written.digest, written.class_order)
    assert to_json(read, source_fingerprint="f") == to_json(written, source_fingerprint="f")
    assert read.offline.dtype == np.int64


def test_the_file_says_in_plain_json_what_it_holds(manifest):
    document = json.loads(manifest.read_text())
    assert document["digest"] == PROTOCOL.digest
    assert document["seed"] == 7
    assert document["spec"]["known"] == 3
    assert document["class_order"] == [0, 1, 2, 3, 4]
    assert document["sizes"] == {"offline": 120, "sessions": [36, 36], "tests": [15, 20, 25]}
    assert document["sessions"][1]["train"] == PROTOCOL.sessions[1].train.tolist()


def test_sixty_thousand_labelled_images_take_less_than_a_megabyte():
    name = "metagcd-tiny-imagenet"
    protocol = split(*shaped_like(name), named_protocol(name), 0)
    assert len(protocol.offline) == 60_000
    assert len(to_json(protocol, source_fingerprint="x")) < 1_000_000


def test_without_a_fingerprint_none_is_compared(manifest):
    assert read_manifest(manifest).digest == PROTOCOL.digest


def test_other_data_is_refused(manifest):
    with pytest.raises(InputError, match=r"protocol\.json.*made for other data: its fingerprint is abc, .* is xyz"):
        read_manifest(manifest, source_fingerprint="xyz")


def test_labels_of_other_data_are_refused(manifest):
    with pytest.raises(InputError, match="class that is not in it"):
        read_manifest(manifest, labels=LABELS[::-1].copy())


def changed(**entries):
    return json.dumps({**json.loads(TEXT), **entries})


def without(key):
    document = json.loads(TEXT)
    del document[key]
    return json.dumps(document)


SESSIONS = json.loads(TEXT)["sessions"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "It is not JSON"),
        ("", "It is not JSON"),
        ("[" * 100_000, "It is not JSON"),
        ("[1, 2]", "It is not a protocol"),
        ('{"format": "other"}', "It is not a protocol"),
        (changed(version=2), "It is of version 2; this program reads version 1"),
        (changed(digest="0" * 16), "it was altered"),
        (changed(offline=[*PROTOCOL.offline.tolist(), 299]), "Its digest is .* it was altered"),
        (changed(sessions=SESSIONS[:1]), "Its digest is .* it was altered"),
        (changed(seed=8), "`checksum` does not agree"),
        (changed(spec={**json.loads(TEXT)["spec"], "labelled_fraction": 0.7}), "`checksum` does not agree"),
        (changed(source_fingerprint="abd"), "`checksum` does not agree"),
        (changed(class_order=[0, 1, 2, 4, 3]), "`class_order` does not agree"),
        (changed(extra=1), "`extra` does not agree"),
        (without("class_order"), "`class_order` does not agree"),
        (without("offline"), "It has no entry 'offline'"),
        (without("seed"), "It has no entry 'seed'"),
        (changed(offline=5), "should be a list of row numbers"),
        (changed(offline=["a"]), "is not what it should be"),
        (changed(offline=[2**70]), "is not what it should be"),
        (changed(offline=[[1], [2, 3]]), "is not what it should be"),
        (changed(sessions=3), "is not what it should be"),
        (changed(known=None), "should be a list"),
        (changed(seed=[1]), "is not what it should be"),
        (changed(spec={"unknown": 1}), "spec.unknown"),
        (changed(spec=4), "is not what it should be"),
    ],
)
def test_a_damaged_or_altered_file_is_refused_with_path_and_reason(tmp_path, text, message):
    path = tmp_path / "damaged.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"(?s)damaged\.json cannot be used.*{message}"):
        read_manifest(path)


def test_an_unsound_protocol_is_refused_though_its_digest_is_right(tmp_path):
    path = tmp_path / "unsound.json"
    twice = replace(PROTOCOL, sessions=(PROTOCOL.sessions[0], replace(PROTOCOL.sessions[1], train=PROTOCOL.offline)))
    write_manifest(path, twice, source_fingerprint="abc")
    with pytest.raises(InputError, match="image of session 0 comes again"):
        read_manifest(path)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path):
    with pytest.raises(InputError, match=r"Cannot read the protocol .*none\.json: No such file"):
        read_manifest(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"Cannot read the protocol .*bytes\.json"):
        read_manifest(tmp_path / "bytes.json")


def test_an_old_file_is_replaced_whole_and_nothing_else_is_left(manifest):
    other = split(LABELS, TEST, PROTOCOL.spec, 8)
    write_manifest(manifest, other, source_fingerprint="abc")
    assert read_manifest(manifest).digest == other.digest
    assert [path.name for path in manifest.parent.iterdir()] == ["protocol.json"]


def test_a_place_that_cannot_be_written_is_named(manifest):
    place = manifest / "under-a-file.json"
    with pytest.raises(InputError, match=rf"Cannot write {place}"):
        write_manifest(place, PROTOCOL, source_fingerprint="abc")


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(manifest, monkeypatch):
    def no_space(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(InputError, match=r"Cannot write .*protocol\.json: No space left on device"):
        write_manifest(manifest, split(LABELS, TEST, PROTOCOL.spec, 8), source_fingerprint="abc")
    assert manifest.read_text() == TEXT
    assert [path.name for path in manifest.parent.iterdir()] == ["protocol.json"]
