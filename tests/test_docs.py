"""The documents say what the code does: commands and examples run, names and links lead somewhere."""

import importlib
import inspect
import re
import shlex
import sys
from pathlib import Path

import contract
import documents
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from PIL import Image

from metagcd.cli.main import COMMANDS, GROUPS, main
from metagcd.data import load
from metagcd.models import build_encoder
from metagcd.protocol import protocol_names

TRIED = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/data.md",
    "docs/own-images.md",
    "docs/protocols.md",
)
"""Documents whose commands and examples are run."""
COLOURS = {"ant": (200, 40, 40), "bee": (40, 200, 40), "fly": (40, 40, 200), "wasp": (160, 160, 40)}

every_document = pytest.mark.parametrize("document", documents.DOCUMENTS, ids=lambda path: path.name)
tried = pytest.mark.parametrize("document", TRIED)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the pictures that the documents speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAGCD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    colours = np.array(list(COLOURS.values()))[np.repeat(np.arange(4), 20)]
    pixels = np.clip(colours[:, None, None] + rng.integers(-30, 30, (80, 16, 16, 3)), 0, 255).astype(np.uint8)
    names = np.repeat(list(COLOURS), 20)
    paths = [f"photos/{name}/{place:02}.png" for place, name in enumerate(names)]
    for path, picture in zip(paths, pixels, strict=True):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
    for name, colour in {"ant": COLOURS["ant"], "moth": (40, 200, 200)}.items():
        for place, noise in enumerate(rng.integers(-30, 30, (12, 16, 16, 3))):
            for month in ("march", "april"):
                Path(month).mkdir(exist_ok=True)
                picture = np.clip(np.array(colour) + (noise if month == "march" else noise[::-1]), 0, 255)
                Image.fromarray(picture.astype(np.uint8)).save(f"{month}/{name}{place:02}.png")
    Path("unsorted").mkdir()
    Image.fromarray(pixels[0]).save("unsorted/one.png")
    Path("unsorted/two.png").write_bytes(Path(paths[0]).read_bytes()[:60])
    np.savez("photos.npz", x=pixels, y=names)
    pa.csv.write_csv(pa.table({"path": paths, "label": names}), "photos.csv")
    encoded = [{"bytes": Path(path).read_bytes()} for path in paths]
    pa.parquet.write_table(pa.table({"image": encoded, "label": names}), "photos.parquet")
    return tmp_path


@tried
def test_quick_commands_and_examples_do_what_the_document_says(document, folder, capsys):
    follow(document, capsys, slow=False)


@pytest.mark.slow
@tried
def test_all_commands_and_examples_do_what_the_document_says(document, folder, capsys):
    follow(document, capsys, slow=True)


def follow(document, capsys, *, slow):
    """Do what a reader would do: write the files that are shown, type the commands, run the examples."""
    names = {"__name__": "example"}
    for block in documents.blocks(documents.ROOT / document):
        if not block.run or (block.slow and not slow):
            continue
        if block.file and not block.file.startswith("src/"):
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            converse(block.text, capsys)
        elif block.language == "python" and not block.file:
            exec(compile(block.text, document, "exec"), names)


def converse(text, capsys):
    """Type the commands of a block; each must end well and print the lines shown below it, where they hold no score."""
    for part in text.split("$ ")[1:]:
        command, *shown = part.strip().splitlines()
        program, *words = shlex.split(command)
        assert program == "metagcd", command
        main([path for word in words for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])])
        said = capsys.readouterr()
        printed = {" ".join(line.split()) for line in (said.out + said.err).splitlines()}
        for line in shown:
            if "±" not in line and line != "...":
                assert " ".join(line.split()) in printed, command


@pytest.fixture
def added(monkeypatch, tmp_path):
    """Put the example file for a new method, source or encoder beside the package's own; return its name."""
    names = []

    def add(kind):
        registry = documents.REGISTRIES[kind]
        blocks = documents.blocks(documents.ROOT / "CONTRIBUTING.md")
        package = registry.package.replace(".", "/")
        block = next(block for block in blocks if block.file.startswith(f"src/{package}/"))
        file = tmp_path / "added" / Path(block.file).name
        file.parent.mkdir()
        file.write_text(f"{block.text}\n", encoding="utf-8")
        places = [*importlib.import_module(registry.package).__path__, str(file.parent)]
        monkeypatch.setattr(importlib.import_module(registry.package).__spec__, "submodule_search_locations", places)
        monkeypatch.setattr(sys.modules[registry.package], "__path__", places)
        registry.__dict__.pop("_places", None)
        assert file.stem in registry.names()
        names.append((registry, file.stem))
        return file.stem

    yield add
    for registry, name in names:
        registry.__dict__.pop("_places", None)
        registry._entries.pop(name, None)
        sys.modules.pop(f"{registry.package}.{name}", None)


@pytest.mark.slow
def test_the_example_of_a_method_keeps_the_contract_of_all_learners(added, tmp_path):
    name = added("method")
    file = documents.ROOT / "tests/methods/test_contract.py"
    spec = importlib.util.spec_from_file_location("contract_of_the_example", file)
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    tests = [test for key, test in vars(rules).items() if key.startswith("test_")]
    assert tests
    for number, test in enumerate(tests):
        asked = inspect.signature(test).parameters
        for share in (0.0, 0.5, 1.0) if "share" in asked else (None,):
            place = tmp_path / f"{number}-{share}"
            place.mkdir()
            offered = {"name": name, "tmp_path": place, "share": share}
            test(**{key: offered[key] for key in asked})


def test_the_example_of_a_method_makes_presets_of_its_own(added, capsys):
    name = added("method")
    main(["list", "presets"])
    assert f"{name}-digits" in capsys.readouterr().out
    main(["config", f"{name}-digits", "method.restarts=3"])
    assert "restarts = 3" in capsys.readouterr().out


def test_the_example_of_a_source_reads_what_it_says_it_reads(added, tmp_path):
    name, rng = added("source"), np.random.default_rng(0)
    pixels, labels = rng.integers(0, 256, (12, 5, 4), dtype=np.uint8), np.arange(12, dtype=np.uint8) % 3
    for part in ("train", "t10k"):
        shape = np.array(pixels.shape, dtype=">i4").tobytes()
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(bytes((0, 0, 8, 3)) + shape + pixels.tobytes())
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(bytes((0, 0, 8, 1)) + shape[:4] + labels.tobytes())
    config = documents.SOURCES.config_class(name)(path=str(tmp_path))
    data = load(config)
    rows = np.array([7, 2])
    np.testing.assert_array_equal(data.train.read(rows), np.repeat(pixels[rows][..., None], 3, axis=3))
    np.testing.assert_array_equal(data.test_labels, labels)
    assert data.fingerprint == load(config).fingerprint
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(bytes((0, 0, 8, 1)) + shape[:4] + labels[::-1].tobytes())
    assert data.fingerprint != load(config).fingerprint
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(b"not this")
    with pytest.raises(ValueError, match="t10k-labels-idx1-ubyte is not"):
        load(config)


@pytest.mark.parametrize("first", [0, 2])
def test_the_example_of_an_encoder_serves_a_learner(added, first):
    name = added("encoder")
    network = build_encoder(name, trainable_from=first, seed=1)
    assert network.weights == build_encoder(name, seed=1).weights != build_encoder(name, seed=2).weights
    learner = contract.new("gcd", network=network)
    before = network.weights_digest, contract.name_of(network.tail.state_dict())
    learner.fit_offline(contract.labelled())
    assert learner.embed(contract.probes()).shape == (40, network.dim)
    assert network.weights_digest == before[0]
    assert contract.name_of(network.tail.state_dict()) != before[1]


@every_document
def test_links_lead_somewhere(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", documents.prose(document)):
        path, _, heading = link.partition("#")
        if "://" not in link:
            target = document.parent / path if path else document
            assert target.exists(), link
            assert not heading or heading in _anchors(target), link


@every_document
def test_names_of_the_package_are_there(document):
    for name in re.findall(r"`(metagcd(?:\.\w+)+)", document.read_text(encoding="utf-8")):
        assert _is_there(name), name


@every_document
def test_files_and_tests_that_are_named_are_there(document):
    for path, test in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.-]*)(?:::(\w+))?", documents.prose(document)):
        assert (documents.ROOT / path).exists(), path
        assert not test or f"def {test}(" in (documents.ROOT / path).read_text(encoding="utf-8"), test


@every_document
def test_commands_that_are_named_are_there(document):
    text = document.read_text(encoding="utf-8")
    for words in re.findall(r"(?:`|^\$ )metagcd ([a-z][a-z ]*)", text, re.MULTILINE):
        first, second = [*words.split(), ""][:2]
        assert first in COMMANDS or f"{first} {second}" in COMMANDS or (first in GROUPS and not second), words


@every_document
def test_tables_made_from_the_code_are_up_to_date(document):
    for name, found, expected in documents.tables(document):
        assert found == expected, f"{name}: run `python tests/documents.py`"


def test_all_that_is_registered_is_documented():
    text = "".join(path.read_text(encoding="utf-8") for path in documents.DOCUMENTS)
    names = [name for registry in documents.REGISTRIES.values() for name in registry.names()]
    for name in (*names, *protocol_names()):
        assert f"`{name}`" in text, name


def _anchors(document):
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _is_there(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if part in getattr(found, "__dataclass_fields__", {}):
                return True
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
