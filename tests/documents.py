"""What the documents hold that can be held against the code: blocks of commands and examples, and tables made from it.

`python tests/documents.py` writes the tables anew.
"""

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metagcd.data import SOURCES
from metagcd.data.decode import Decoding
from metagcd.data.scan import Check
from metagcd.describe import field_docstrings
from metagcd.methods import METHODS
from metagcd.models import ENCODERS
from metagcd.protocol import EpisodeSpec, ProtocolSpec, named_protocol, protocol_names

ROOT = Path(__file__).parents[1]
DOCUMENTS = tuple(sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))
REGISTRIES = {"method": METHODS, "source": SOURCES, "encoder": ENCODERS}
SPECS = {"decoding": Decoding, "check": Check, "protocol": ProtocolSpec, "episode": EpisodeSpec}

BLOCK = re.compile(r"((?:<!--[^\n]*-->\n)*)```(\w+)\n(.*?)\n```", re.DOTALL)
TABLE = re.compile(r"<!-- table: ([\w ]+) -->\n.*?<!-- /table -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block and what the comments just above it say of it."""

    language: str
    text: str
    slow: bool
    run: bool
    file: str
    """The file that holds this text; empty where it is none."""


def blocks(document: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a document, in order."""
    for comments, language, text in BLOCK.findall(document.read_text(encoding="utf-8")):
        file = re.search(r"<!-- file: (\S+) -->", comments)
        yield Block(
            language=language,
            text=text,
            slow="<!-- slow -->" in comments,
            run="<!-- not run: " not in comments,
            file=file[1] if file else "",
        )


def prose(document: Path) -> str:
    """Return the text of a document without its fenced blocks."""
    return BLOCK.sub("", document.read_text(encoding="utf-8"))


def tables(document: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each generated table: its name, what the document holds, and what it should hold."""
    for found in TABLE.finditer(document.read_text(encoding="utf-8")):
        yield found[1], found[0], _framed(found[1])


def table(name: str) -> str:
    """Return a table made from the code: `fields source folder`, `fields protocol`, `methods`, `protocols`, ..."""
    kind, *rest = name.split()
    if kind == "fields":
        spec = SPECS[rest[0]] if len(rest) == 1 else REGISTRIES[rest[0]].config_class(rest[1])
        return _rows(("field", "default", "meaning"), _fields(spec))
    if kind == "protocols":
        return _rows(
            ("name", "known", "novel", "unit", "images: novel", "images: known", "images: discovered"), _protocols()
        )
    registry = REGISTRIES[kind.removesuffix("s")]
    return _rows(("name", "what it is"), ((f"`{name}`", registry.summary(name)) for name in registry.names()))


def _framed(name: str) -> str:
    return f"<!-- table: {name} -->\n{table(name)}<!-- /table -->"


def _fields(spec: type) -> Iterator[tuple[str, ...]]:
    """Yield the fields that the class itself has, not those it inherits."""
    config, meanings = spec(), field_docstrings(spec)
    for field in dataclasses.fields(spec):
        if field.name in spec.__annotations__ and not dataclasses.is_dataclass(getattr(config, field.name)):
            value = getattr(config, field.name)
            shown = "absent" if value is None else f"`{json.dumps(value)}`"
            yield f"`{field.name}`", shown, meanings[field.name]


def _protocols() -> Iterator[tuple[str, ...]]:
    for name in protocol_names():
        spec = named_protocol(name)
        yield (
            f"`{name}`",
            str(spec.known),
            _shorter(spec.novel),
            spec.unit,
            _shorter(spec.novel_images),
            _shorter(spec.known_images),
            _shorter(spec.discovered_images) or "as known",
        )


def _shorter(counts: tuple[int, ...]) -> str:
    same = len(counts) > 1 and len(set(counts)) == 1
    return f"{len(counts)} x {counts[0]}" if same else ", ".join(map(str, counts))


def _rows(header: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> str:
    rule = tuple("---" for _ in header)
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in (header, rule, *lines)
    )


def _write_anew() -> None:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        document.write_text(TABLE.sub(lambda found: _framed(found[1]), text), encoding="utf-8")


if __name__ == "__main__":
    _write_anew()
