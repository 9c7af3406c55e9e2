"""A protocol as JSON text beside a result, and back; what was altered or belongs to other data is refused."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from metagcd.config import from_mapping, reason, to_mapping
from metagcd.errors import InputError
from metagcd.protocol.integrity import check
from metagcd.protocol.sequence import Protocol, Session
from metagcd.protocol.spec import ProtocolSpec
from metagcd.runs import write_atomic
from metagcd.types import Array

FORMAT, VERSION = "metagcd-protocol", 1


def to_json(protocol: Protocol, *, source_fingerprint: str) -> str:
    """Return the protocol as JSON: one line per entry, every row number written out."""
    lines = (
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in _document(protocol, source_fingerprint).items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_manifest(path: Path, protocol: Protocol, *, source_fingerprint: str) -> None:
    """Write the protocol to a file; the file is either the old one or whole."""
    write_atomic(path, to_json(protocol, source_fingerprint=source_fingerprint))


def read_manifest(
    path: Path,
    *,
    source_fingerprint: str | None = None,
    labels: Array | None = None,
    test_labels: Array | None = None,
) -> Protocol:
    """Read a protocol and check it; fingerprint and labels, where given, must be those it was made for."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the protocol {path}: {reason(error)}.") from error
    try:
        return _parse(text, source_fingerprint, labels, test_labels)
    except InputError as error:
        raise InputError(f"The protocol {path} cannot be used. {error}") from error


def _parse(text: str, fingerprint: str | None, labels: Array | None, test_labels: Array | None) -> Protocol:
    document = _table(text)
    if fingerprint is not None and document.get("source_fingerprint") != fingerprint:
        raise InputError(
            f"It was made for other data: its fingerprint is {document.get('source_fingerprint')}, "
            f"that of the data given is {fingerprint}."
        )
    protocol = _protocol(document)
    if document.get("digest") != protocol.digest:
        raise InputError(
            f"Its digest is {document.get('digest')}, but its content has {protocol.digest}: it was altered."
        )
    whole = _document(protocol, str(document.get("source_fingerprint")))
    for key in sorted(whole.keys() | document.keys()):
        if key not in whole or document.get(key) != whole[key]:
            raise InputError(f"Its entry `{key}` does not agree with the rest: it was altered.")
    check(protocol, labels, test_labels)
    return protocol


def _table(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"It is not JSON: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f'It is not a protocol: its `format` is not "{FORMAT}".')
    if document.get("version") != VERSION:
        raise InputError(f"It is of version {document.get('version')}; this program reads version {VERSION}.")
    return document


def _protocol(document: dict[str, Any]) -> Protocol:
    try:
        return Protocol(
            spec=from_mapping(ProtocolSpec(), document["spec"], where="spec."),
            seed=int(document["seed"]),
            offline=_rows(document["offline"]),
            offline_test=_rows(document["offline_test"]),
            known=_ids(document["known"]),
            sessions=tuple(
                Session(
                    train=_rows(session["train"]),
                    test=_rows(session["test"]),
                    known=_ids(session["known"]),
                    novel=_ids(session["novel"]),
                )
                for session in document["sessions"]
            ),
        )
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"It has no entry {error}.") from error
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InputError(f"One of its entries is not what it should be: {error}.") from error


def _document(protocol: Protocol, source_fingerprint: str) -> dict[str, Any]:
    """Return what the file holds; `digest` names the row numbers, `checksum` covers every other entry as well."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "digest": protocol.digest,
        "source_fingerprint": source_fingerprint,
        "seed": protocol.seed,
        "spec": to_mapping(protocol.spec),
        "class_order": list(protocol.class_order),
        "sizes": {
            "offline": len(protocol.offline),
            "sessions": [len(session.train) for session in protocol.sessions],
            "tests": [len(protocol.offline_test), *(len(session.test) for session in protocol.sessions)],
        },
        "known": list(protocol.known),
        "offline": protocol.offline.tolist(),
        "offline_test": protocol.offline_test.tolist(),
        "sessions": [
            {
                "known": list(session.known),
                "novel": list(session.novel),
                "train": session.train.tolist(),
                "test": session.test.tolist(),
            }
            for session in protocol.sessions
        ],
    }
    return {**document, "checksum": blake2b(json.dumps(document).encode(), digest_size=8).hexdigest()}


def _rows(numbers: Any) -> Array:
    if not isinstance(numbers, list):
        raise InputError("One of its entries should be a list of row numbers.")
    return np.array(numbers, dtype=np.int64).reshape(-1)


def _ids(numbers: Any) -> tuple[int, ...]:
    return tuple(_rows(numbers).tolist())
