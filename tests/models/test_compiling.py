import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from models import banks
from models.test_bank_source import source

from metagcd.models import compiling
from metagcd.models.compiling import compiled, compiled_for, pays
from metagcd.progress import Progress

CHILD = """
import sys
sys.path[:0] = {path!r}
import io
from pathlib import Path
import torch
from metagcd.models.compiling import compiled
from metagcd.progress import Progress
from models import banks
from rich.console import Console

said = io.StringIO()
found = banks.watched(Path("unused"), use="off")
trunk, images = found.feed.encoder.trunk, torch.randn(6, 3, 8, 8)
with compiled(trunk, Progress(Console(file=said, width=500))):
    quick = [trunk(images[:count]) for count in (6, 4, 5, 6)]
for count, output in zip((6, 4, 5, 6), quick):
    torch.testing.assert_close(output, trunk(images[:count]), atol=1e-5, rtol=1e-5)
print(torch._dynamo.utils.counters["stats"]["unique_graphs"], said.getvalue())
"""


def child(**environment):
    """What a process says that compiles a trunk for batches of several sizes."""
    code = CHILD.format(path=[str(Path(__file__).parents[1])])
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True, env=environment)


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}


@pytest.mark.slow
def test_a_compiled_trunk_gives_the_same_and_is_compiled_once_for_all_sizes_of_a_batch(environment):
    graphs, *said = child(**environment).stdout.split()
    assert (graphs, said) == ("1", [])


@pytest.mark.slow
def test_without_a_compiler_the_trunk_runs_as_it_is_and_one_line_says_so(environment):
    said = child(**{**environment, "CXX": "/nowhere/c++"}).stdout
    assert said.count("The trunk cannot be compiled and runs as it is: ") == 1
    assert len(said.splitlines()) <= 2


def failing(error):
    calls = []

    def compile_(read):
        def broken(model, x):
            calls.append(len(x))
            raise error

        return broken

    return calls, compile_


def test_whatever_compiling_raises_is_told_once_and_the_trunk_runs_as_it_is(monkeypatch, tmp_path):
    calls, broken = failing(RuntimeError("no compiler\nand much more"))
    monkeypatch.setattr(torch, "compile", broken)
    found = banks.watched(tmp_path)
    trunk, images = found.feed.encoder.trunk, torch.randn(2, 3, 8, 8)
    expected, read = trunk(images), trunk.read
    with compiled(trunk, found.feed.runtime.progress):
        assert trunk.read is not read
        assert torch.equal(trunk(images), expected)
        assert torch.equal(trunk(images), expected)
    assert trunk.read is read
    assert calls == [2]
    assert found.lines == ["The trunk cannot be compiled and runs as it is: no compiler"]


def test_memory_that_runs_out_is_not_taken_for_a_compiler_that_is_missing(monkeypatch, tmp_path):
    _, broken = failing(torch.OutOfMemoryError("full"))
    monkeypatch.setattr(torch, "compile", broken)
    trunk = banks.watched(tmp_path).feed.encoder.trunk
    with compiled(trunk, Progress()), pytest.raises(torch.OutOfMemoryError):
        trunk(torch.randn(2, 3, 8, 8))


def test_on_a_processor_it_does_not_pay():
    assert not pays(source(banks.pixels(10)))


def test_what_pays_is_counted_over_all_images(monkeypatch):
    made, more = source(banks.pixels(10)), source(banks.pixels(20))
    least = 10 * 3 * 2 * 4 * 48 * 8  # multiplications and sums of the 4 patches of 3 views, 48 values to 8, alone
    limit = {"cpu": float(least)}
    monkeypatch.setattr(compiling, "OPERATIONS", limit)
    assert pays(made)
    while pays(made):
        limit["cpu"] *= 2
    assert pays(more)
    limit["cpu"] *= 2
    assert not pays(more)


@pytest.mark.parametrize(("mode", "used"), [("on", True), ("off", False), ("auto", False)])
def test_a_pass_is_compiled_when_it_is_asked_for(monkeypatch, tmp_path, mode, used):
    calls, broken = failing(RuntimeError("no"))
    monkeypatch.setattr(torch, "compile", broken)
    found = banks.watched(tmp_path)
    runtime = found.feed.runtime
    found.feed = replace(found.feed, runtime=replace(runtime, banks=replace(runtime.banks, compile=mode)))
    assert len(found.plain()) == 20
    assert bool(calls) is used
    with compiled_for(source(banks.pixels(2)), "off", Progress()):
        pass
