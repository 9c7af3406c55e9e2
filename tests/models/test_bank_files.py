import json
from dataclasses import replace

import numpy as np
import pytest
from models.test_bank_key import KEY

from metagcd.models.bank_files import BLOCK_BYTES, COMPLETE, JOURNAL, META, ROWS, BankFiles, Layout

LAYOUT = Layout(images=7, views=2, shape=(3,), dtype="bfloat16", block=3)


def blocks():
    """Random rows, block by block."""
    rows = np.random.default_rng(0).integers(0, 256, (7, 2, 6), dtype=np.uint8)
    return rows, [rows[0:3], rows[3:6], rows[6:7]]


def written(folder, finished=3):
    files = BankFiles(folder)
    files.create(KEY, LAYOUT)
    for number, block in list(enumerate(blocks()[1]))[:finished]:
        files.write(LAYOUT, number, block)
    if finished == LAYOUT.blocks:
        files.complete(LAYOUT)
    return files


def test_a_layout_knows_its_sizes():
    assert (LAYOUT.view_bytes, LAYOUT.bytes, LAYOUT.blocks) == (6, 84, 3)
    assert [list(LAYOUT.rows(block)) for block in range(3)] == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize(("shape", "block"), [((197, 384), BLOCK_BYTES // (8 * 197 * 384 * 2)), ((1,), 1024)])
def test_blocks_have_about_64_mebibytes_and_no_more_than_1024_images(shape, block):
    assert Layout.of(5000, 8, shape, "bfloat16").block == block
    assert Layout.of(5000, 8, (10**8,), "float32").block == 1


def test_what_was_written_is_mapped_in_any_order_of_blocks(tmp_path):
    files, (rows, parts) = BankFiles(tmp_path), blocks()
    files.create(KEY, LAYOUT)
    for number in (2, 0, 1):
        files.write(LAYOUT, number, parts[number])
    np.testing.assert_array_equal(files.mapped(LAYOUT), rows)
    assert files.layout(KEY) == files.layout() == LAYOUT
    assert not files.is_complete()
    files.complete(LAYOUT)
    assert files.is_complete()
    assert files.layout(KEY) == LAYOUT


def test_the_key_stands_there_in_clear(tmp_path):
    meta = json.loads((written(tmp_path).folder / META).read_text())
    assert meta["key"]["images"] == "a"
    assert meta["key"]["augmentation"]["flip"] == 0.5
    assert meta["layout"]["shape"] == [3]


def test_another_key_has_no_layout_here(tmp_path):
    assert written(tmp_path).layout(replace(KEY, seed=1)) is None


def test_a_line_of_the_journal_that_was_cut_short_counts_for_nothing(tmp_path):
    files = written(tmp_path, finished=2)
    whole = files.finished(LAYOUT)
    with (tmp_path / JOURNAL).open("a") as file:
        file.write("2 0123456789abcdef")
    assert files.finished(LAYOUT) == whole
    files.rewrite_journal(LAYOUT)
    files.write(LAYOUT, 2, blocks()[1][2])
    assert sorted(files.finished(LAYOUT)) == [0, 1, 2]


def test_a_block_can_be_taken_out_of_the_journal(tmp_path):
    files = written(tmp_path)
    files.rewrite_journal(LAYOUT, without=[1])
    assert sorted(files.finished(LAYOUT)) == [0, 2]
    assert not files.is_complete()
    assert files.layout(KEY) == LAYOUT


@pytest.mark.parametrize("name", [META, JOURNAL, COMPLETE])
@pytest.mark.parametrize("place", [0, 5, -2])
def test_a_byte_changed_in_a_small_file_is_seen_at_once(tmp_path, name, place):
    files = written(tmp_path)
    data = bytearray((tmp_path / name).read_bytes())
    data[place] ^= 2
    (tmp_path / name).write_bytes(data)
    assert files.layout(KEY) is None


@pytest.mark.parametrize("size", [0, 83, 85])
def test_another_length_is_seen_at_once(tmp_path, size):
    files = written(tmp_path)
    with (tmp_path / ROWS).open("r+b") as file:
        file.truncate(size)
    assert files.layout(KEY) is None


def test_a_full_check_sees_a_byte_changed_in_the_rows(tmp_path):
    files = written(tmp_path)
    assert not files.damaged()
    with (tmp_path / ROWS).open("r+b") as file:
        file.seek(50)
        old = file.read(1)[0]
        file.seek(50)
        file.write(bytes([old ^ 1]))
    assert files.damaged()
    assert files.layout(KEY) == LAYOUT
    assert BankFiles(tmp_path / "none").damaged()


def test_making_a_bank_anew_leaves_nothing_of_the_old_one(tmp_path):
    written(tmp_path)
    files = BankFiles(tmp_path)
    files.create(KEY, LAYOUT)
    assert (files.finished(LAYOUT), files.is_complete()) == ({}, False)
    assert not files.mapped(LAYOUT).any()
