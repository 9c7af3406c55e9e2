import io
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from models import banks
from models.test_bank_source import source
from rich.console import Console

from metagcd.errors import InputError
from metagcd.models import bank_files
from metagcd.models.bank_files import BankFiles
from metagcd.models.bank_fill import fill
from metagcd.progress import Progress


def filled(folder, made, finished=()):
    """Fill a bank of blocks of three images, of which some are there already."""
    files, layout = BankFiles(folder), replace(made.layout(), block=3)
    files.create(made.key, layout)
    for block in finished:
        files.write(layout, block, np.zeros((3, layout.views, layout.view_bytes), dtype=np.uint8))
    fill(made, files, layout, Progress())
    return files, layout


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_filled_bank_holds_every_view_of_every_image(tmp_path, dtype):
    made = source(banks.pixels(10), dtype=dtype)
    files, layout = filled(tmp_path, made)
    assert files.is_complete()
    assert files.layout(made.key) == layout
    rows = torch.from_numpy(np.array(files.mapped(layout))).view(made.dtype).unflatten(2, (5, 8))
    for view in (1, 2, 3):
        (expected,) = made.outputs([np.arange(10)], (view,))
        torch.testing.assert_close(rows[:, view - 1], expected, atol=1e-6, rtol=2**-7)


def test_blocks_that_are_finished_are_not_computed_again(tmp_path):
    made, passed = source(banks.pixels(10)), []
    made.encoder.trunk.register_forward_hook(lambda _trunk, _inputs, output: passed.append(len(output)))
    files, layout = filled(tmp_path, made, finished=(0, 2))
    assert sum(passed) == 1 + 3 * (3 + 1)
    mapped = files.mapped(layout)
    assert not mapped[:3].any()
    assert mapped[3:6].any()
    assert mapped[9].any()


def test_numbers_that_float16_cannot_hold_are_refused_with_what_to_do(tmp_path):
    made = source(banks.pixels(4), dtype="float16")
    with torch.no_grad():
        next(made.encoder.trunk.parameters()).fill_(1e6)
    with pytest.raises(InputError, match=r"bank\.dtype"):
        filled(tmp_path, made)


def test_the_bar_counts_images(tmp_path):
    text, made = io.StringIO(), source(banks.pixels(10))
    files, layout = BankFiles(tmp_path), made.layout()
    files.create(made.key, layout)
    fill(made, files, layout, Progress(Console(file=text, force_terminal=True, width=120)))
    assert "fill the bank" in text.getvalue()
    assert "10/10" in text.getvalue()


def test_blocks_that_another_process_has_claimed_are_waited_for_and_not_computed(tmp_path):
    made, passed = source(banks.pixels(10)), []
    made.encoder.trunk.register_forward_hook(lambda _trunk, _inputs, output: passed.append(len(output)))
    files, layout = BankFiles(tmp_path), replace(made.layout(), block=3)
    files.create(made.key, layout)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "holds\n"
        text = io.StringIO()
        fill(made, files, layout, Progress(Console(file=text, soft_wrap=True)))
    assert files.is_complete()
    assert sum(passed) == 1 + 3 * (10 - 3)
    assert "Another process fills" in text.getvalue()


HOLDER = """
import sys, time
from pathlib import Path
import numpy as np
from metagcd.models.bank_files import BankFiles
from metagcd.models.bank_locks import claims
folder = Path(sys.argv[1])
with claims(folder / "claims") as held:
    assert held.take(1) and held.take(2)
    print("holds", flush=True)
    time.sleep(0.5)
    files = BankFiles(folder)
    layout = files.layout()
    files.write(layout, 1, np.zeros((3, layout.views, layout.view_bytes), dtype=np.uint8))
"""


def test_a_line_that_was_cut_short_takes_no_other_block_with_it(tmp_path):
    made = source(banks.pixels(10))
    files, layout = BankFiles(tmp_path), replace(made.layout(), block=3)
    files.create(made.key, layout)
    block = np.zeros((3, layout.views, layout.view_bytes), dtype=np.uint8)
    files.write(layout, 0, block)
    with (tmp_path / bank_files.JOURNAL).open("a") as journal:
        journal.write("1 0123")
    files.write(layout, 2, block)
    assert set(files.finished(layout)) == {0, 2}


@pytest.mark.slow
@pytest.mark.parametrize("lost", [None, 0, 1])
def test_processes_that_share_batches_fill_a_share_each_and_what_a_lost_one_left(tmp_path, monkeypatch, lost):
    monkeypatch.setattr(bank_files, "BLOCK_IMAGES", 4)
    with (
        banks.child(tmp_path / "a", pause=0.2, share=(2, 0)) as first,
        banks.child(tmp_path / "a", pause=0.2, share=(2, 1)) as second,
    ):
        processes = (first, second)
        banks.go(*processes)
        if lost is not None:
            while sum(len(file.read_text().splitlines()) for file in tmp_path.glob("a/*/journal")) < 2:
                time.sleep(0.01)
            processes[lost].kill()
        said = [process.communicate(timeout=100)[0].split() for process in processes]
    passed = [int(words[1]) for words in said if words]
    assert sum(passed) == 41 if lost is None else sum(passed) <= 41
    assert min(passed) >= 12  # nobody has done nearly nothing
    whole = banks.watched(tmp_path / "b", images=banks.pixels(40))
    whole.plain()
    (together,), (alone,) = (banks.folders(tmp_path / name) for name in ("a", "b"))
    for name in (bank_files.ROWS, bank_files.META, bank_files.JOURNAL, bank_files.COMPLETE):
        assert (together / name).read_bytes() == (alone / name).read_bytes()


def test_a_process_that_was_killed_while_it_filled_is_taken_up_at_the_next_block(tmp_path, monkeypatch):
    monkeypatch.setattr(bank_files, "BLOCK_IMAGES", 4)
    with banks.child(tmp_path / "a", pause=0.2) as process:
        banks.go(process)
        done = 0
        while done < 2:
            assert process.poll() is None
            done = sum(len(file.read_text().splitlines()) for file in tmp_path.glob("a/*/journal"))
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    whole, rest = (banks.watched(tmp_path / name, images=banks.pixels(40)) for name in ("b", "a"))
    assert torch.equal(rest.plain(), whole.plain())
    assert sum(whole.passed) == 40 + 1
    assert 0 < sum(rest.passed) <= 40 - 4 * done
    (interrupted,), (uninterrupted,) = (banks.folders(tmp_path / name) for name in ("a", "b"))
    for name in (bank_files.ROWS, bank_files.META, bank_files.JOURNAL, bank_files.COMPLETE):
        assert (interrupted / name).read_bytes() == (uninterrupted / name).read_bytes()
