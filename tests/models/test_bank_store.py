import json
import time
from dataclasses import replace

import pytest
import torch
from models import banks

from metagcd.engine.runtime import fabric_on
from metagcd.models import bank_files
from metagcd.models.bank_budget import entries
from metagcd.models.encoders.tiny import TinyConfig


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(bank_files, "BLOCK_IMAGES", 4)


def test_what_is_stored_is_what_would_be_computed_rounded_to_sixteen_bits(tmp_path, small_blocks):
    stored, fresh = banks.watched(tmp_path), banks.watched(tmp_path, use="off")
    torch.testing.assert_close(stored.plain(), fresh.plain(), atol=0, rtol=2**-8)
    assert stored.plain().dtype == torch.float32
    assert not torch.equal(stored.plain(), fresh.plain())
    exact = banks.watched(tmp_path, dtype="float32")
    torch.testing.assert_close(exact.plain(), fresh.plain(), atol=1e-6, rtol=0)


def test_a_later_process_computes_nothing_and_reads_the_same(tmp_path, small_blocks):
    first, later = banks.watched(tmp_path), banks.watched(tmp_path)
    plain, shown = first.plain(), first.shown()
    assert sum(first.passed) == 20 + 20 * 4 + 2  # every view once, and one of each kind to learn the shape
    assert torch.equal(later.plain(), plain)
    assert torch.equal(later.shown(), shown)
    assert later.passed == []


def test_without_room_the_same_is_computed_anew_and_told_once(tmp_path):
    stored, poor = banks.watched(tmp_path / "a"), banks.watched(tmp_path / "b", budget=1e-7)
    torch.testing.assert_close(poor.shown(), stored.shown(), atol=1e-2, rtol=2**-7)
    torch.testing.assert_close(poor.shown(), stored.shown(), atol=1e-2, rtol=2**-7)
    assert banks.folders(tmp_path / "b") == []
    (line,) = poor.lines
    assert "trunk outputs of 20 images, 4 views" in line
    assert "do not fit 1e-07 GB for all banks (`--bank-budget`)" in line
    assert line.endswith("computed anew each time.")


def test_a_folder_that_cannot_be_written_is_done_without_and_told(tmp_path):
    (tmp_path / "file").touch()
    found = banks.watched(tmp_path / "file", use="on")
    assert len(found.plain()) == 20
    (line,) = found.lines
    assert "cannot be used for outputs" in line


def test_automatic_use_needs_a_trunk_with_weights(tmp_path):
    bare = TinyConfig(image_size=8, patch=4, width=8, depth=1, heads=1)
    for encoder, use, expected in (
        (banks.ENCODER, "auto", True),
        (banks.ENCODER, "off", False),
        (bare, "auto", False),
        (bare, "on", True),
    ):
        found = banks.watched(tmp_path, encoder=encoder, use=use)
        assert found.feed.runtime.banks.serve(found.feed.encoder) is expected


def test_automatic_use_fills_as_soon_as_what_was_computed_reaches_the_cost_of_filling(tmp_path):
    found = banks.watched(tmp_path, use="auto")  # filling takes 80 views
    for _ in range(7):
        found.shown(last=1)  # 10 views each
        assert banks.folders(tmp_path) == []
    assert sum(found.passed) == 70
    found.shown(last=1)
    assert len(banks.folders(tmp_path)) == 1
    assert sum(found.passed) == 70 + 80 + 1


def test_automatic_use_fills_at_once_what_is_sure_to_be_asked_for_often_enough(tmp_path):
    found = banks.watched(tmp_path, use="auto")
    found.shown(last=8)  # two epochs of 40 views
    assert len(banks.folders(tmp_path)) == 1
    assert sum(found.passed) == 80 + 1


@pytest.mark.parametrize("place", [0, 777, -1])
def test_a_flipped_byte_is_found_and_its_block_filled_again(tmp_path, small_blocks, place):
    expected = banks.watched(tmp_path).plain()
    (folder,) = banks.folders(tmp_path)
    file = folder / bank_files.ROWS
    data = file.read_bytes()
    banks.write_byte(file, place % len(data), data[place] ^ 1)
    found = banks.watched(tmp_path)
    torch.testing.assert_close(found.plain(), expected, atol=0, rtol=0)
    assert sum(found.passed) == 4
    assert "1 damaged blocks are filled again" in found.lines[0]
    assert banks.watched(tmp_path).plain().equal(expected)


def cut(folder):
    with (folder / bank_files.ROWS).open("r+b") as file:
        file.truncate(100)


def other_rows(folder):
    meta = json.loads((folder / bank_files.META).read_text())
    meta["layout"]["block"] += 1
    (folder / bank_files.META).write_text(json.dumps(meta))


def other_seed(folder):
    file = folder / bank_files.META
    file.write_text(file.read_text().replace('"redraw": 0', '"redraw": 1'))


def no_json(folder):
    (folder / bank_files.META).write_text("{")


def no_meta(folder):
    (folder / bank_files.META).unlink()


def shorter_journal(folder):
    file = folder / bank_files.JOURNAL
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize("damage", [cut, other_rows, other_seed, no_json, no_meta, shorter_journal])
def test_files_that_do_not_fit_one_another_are_found_and_the_bank_is_filled_again(tmp_path, small_blocks, damage):
    expected = banks.watched(tmp_path).plain()
    (folder,) = banks.folders(tmp_path)
    damage(folder)
    found = banks.watched(tmp_path)
    assert found.plain().equal(expected)
    assert sum(found.passed) == 20 + 1
    assert "is damaged and is filled again" in found.lines[0]
    assert banks.folders(tmp_path) == [folder]
    again = banks.watched(tmp_path)
    assert again.plain().equal(expected)
    assert (again.passed, again.lines) == ([], [])


def test_a_disk_that_does_not_keep_what_is_written_is_done_without(tmp_path, small_blocks, monkeypatch):
    write = bank_files.BankFiles.write

    def forgetful(files, layout, block, data):
        write(files, layout, block, data)
        banks.write_byte(files.folder / bank_files.ROWS, 0, 255)

    expected = banks.watched(tmp_path / "good").plain()
    monkeypatch.setattr(bank_files.BankFiles, "write", forgetful)
    found = banks.watched(tmp_path / "bad")
    torch.testing.assert_close(found.plain(), expected, atol=0, rtol=2**-7)
    assert sum("damaged" in line for line in found.lines) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder": replace(banks.ENCODER, depth=3)},
        {"encoder": replace(banks.ENCODER, depth=3, trainable_from=2)},
        {"encoder": replace(banks.ENCODER, image_size=12)},
        {"images": banks.pixels(20)},
        {"n": 19},
        {"views": 3},
        {"dtype": "float16"},
    ],
)
def test_a_run_that_differs_in_what_rows_depend_on_has_another_bank(tmp_path, changes):
    first, other = banks.watched(tmp_path), banks.watched(tmp_path, **changes)
    first.shown(last=1)
    other.shown(last=1)
    assert len(banks.folders(tmp_path)) == 2
    assert sum(other.passed) > 0


@pytest.mark.parametrize("change", ["augmentation", "seeds", "weights", "trunk type", "precision"])
def test_a_feed_that_differs_in_what_rows_depend_on_has_another_bank(tmp_path, change):
    banks.watched(tmp_path).shown(last=1)
    found = banks.watched(tmp_path)
    feed = found.feed
    match change:
        case "augmentation":
            found.feed = replace(feed, augmentation=replace(feed.augmentation, flip=0.25))
        case "seeds":
            found.feed = replace(feed, seeds=feed.seeds.child("other"), whole=None)
        case "weights":
            with torch.no_grad():
                next(feed.encoder.trunk.parameters()).mul_(1.01)
        case "trunk type":
            feed.encoder.trunk.dtype = "bfloat16"
        case _:
            fabric = fabric_on("cpu", precision="bf16-mixed")
            found.feed = replace(feed, runtime=replace(feed.runtime, fabric=fabric))
    found.shown(last=1)
    assert len(banks.folders(tmp_path)) == 2


def test_views_are_drawn_anew_after_the_epochs_that_are_set(tmp_path):
    kept, drawn = banks.watched(tmp_path, views=2), banks.watched(tmp_path, views=2, redraw_every=2)
    kept_sums, drawn_sums = (
        [found.shown(first=4 * epoch, last=4 * epoch + 4).double().sum() for epoch in range(4)]
        for found in (kept, drawn)
    )
    torch.testing.assert_close(torch.stack(kept_sums), kept_sums[0].expand(4))
    torch.testing.assert_close(drawn_sums[:2], kept_sums[:2])
    torch.testing.assert_close(drawn_sums[2], drawn_sums[3])
    assert abs(drawn_sums[0] - drawn_sums[2]) > 0.01
    assert len(banks.folders(tmp_path)) == 2


def test_the_bank_that_was_not_used_for_longest_makes_room(tmp_path):
    size = 20 * 5 * 8 * 2
    sets = [banks.pixels(n) for n in (20, 21, 22)]
    named = []
    for images in (*sets[:2], sets[0], sets[2]):
        time.sleep(0.02)
        found = banks.watched(tmp_path, images=images, budget=(2 * size + 3000) / 1e9)
        found.plain()
        named.append(entries(tmp_path)[-1].folder.name)
    assert named[0] == named[2]
    assert {path.name for path in banks.folders(tmp_path)} == {named[0], named[3]}


def test_a_digest_is_computed_again_only_when_the_trunk_has_changed(tmp_path):
    found = banks.watched(tmp_path)
    store, encoder = found.feed.runtime.banks, found.feed.encoder
    first = store.digest(encoder)
    assert first == store.digest(encoder) == encoder.weights_digest
    with torch.no_grad():
        next(encoder.trunk.parameters()).add_(1)
    second = store.digest(encoder)
    encoder.trunk.dtype = "bfloat16"
    assert len({first, second, store.digest(encoder)}) == 3
    assert store.digest(encoder) == encoder.weights_digest


def test_two_processes_that_need_the_same_bank_fill_it_together(tmp_path):
    with banks.child(tmp_path, pause=0.05) as one, banks.child(tmp_path, pause=0.05) as other:
        banks.go(one, other)
        said = [process.communicate(timeout=60)[0].split() for process in (one, other)]
    assert said[0][0] == said[1][0]
    assert sum(int(passed) for _, passed in said) == 41  # every image once, and one to learn the shape
    assert banks.watched(tmp_path, images=banks.pixels(40)).plain().double().sum() == float(said[0][0])
