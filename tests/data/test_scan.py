"""Pictures are found in any nesting, in one order, and checked."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from data import corpus
from rich.console import Console

from metagcd.data.decode import Decoding
from metagcd.data.files import Paths
from metagcd.data.scan import Check, scan, verify, walk
from metagcd.errors import InputError
from metagcd.progress import Progress


def test_files_come_in_the_order_of_the_bytes_of_their_names(tmp_path):
    corpus.write(tmp_path, dict.fromkeys(("b/2", "b/10", "a", "c/d/e/f", ".hidden/x", "b/.x", "Thumbs.db"), b"x"))
    problems: list = []
    assert list(walk(str(tmp_path), problems)) == ["a", "b/10", "b/2", "c/d/e/f"]
    assert problems == []


def test_names_of_any_kind_are_found_and_read(tmp_path):
    corpus.write(tmp_path, {name: corpus.plain(0) for name in corpus.odd_names()})
    checked = scan(tmp_path, Check())
    assert sorted(checked.paths) == sorted(corpus.odd_names())
    assert checked.skipped == ()
    assert np.array_equal(checked.sizes, np.full((len(corpus.odd_names()), 2), 8))


def test_links_are_followed_and_loops_are_not(tmp_path):
    corpus.write(tmp_path, {"real/x.png": corpus.plain(0), "other/y.png": corpus.plain(1)})
    (tmp_path / "real" / "up").symlink_to(tmp_path)
    (tmp_path / "real" / "self").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "aside").symlink_to(tmp_path / "other")
    (tmp_path / "real" / "z.png").symlink_to(tmp_path / "other" / "y.png")
    assert list(walk(str(tmp_path / "real"), [])) == ["aside/y.png", "x.png", "z.png"]
    # From above, each folder is visited once.
    assert list(walk(str(tmp_path), [])) == ["other/y.png", "real/x.png", "real/z.png"]


def test_very_deep_folders_are_walked(tmp_path):
    deep = "/".join(["d"] * 300)
    corpus.write(tmp_path, {f"{deep}/x": b"x"})
    assert list(walk(str(tmp_path), [])) == [f"{deep}/x"]


def test_every_unreadable_file_is_listed_with_its_reason(tmp_path):
    files = {name: content for name, (content, _) in corpus.unreadable().items()}
    corpus.write(tmp_path, files | {"good.png": corpus.plain(0)})
    (tmp_path / "dangling.jpg").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    checked = scan(tmp_path, Check(check="full", size=8))
    assert list(checked.paths) == ["good.png"]
    reasons = {Path(one.path).name: one.reason for one in checked.skipped}
    assert reasons.keys() == files.keys() | {"dangling.jpg", "loop.jpg"}
    assert all(words in reasons[name] for name, (_, words) in corpus.unreadable().items())


def test_headers_alone_find_all_but_damage_inside(tmp_path):
    files = {name: content for name, (content, _) in corpus.unreadable().items()}
    assert set(scan(corpus.write(tmp_path, files), Check(size=8)).paths) == {"liar.png"}
    assert len(scan(tmp_path, Check(check="none")).paths) == len(files)


def test_rows_and_sizes_belong_to_the_files_that_are_left(tmp_path):
    wide = corpus.encode(np.zeros((3, 5, 3), np.uint8))
    corpus.write(tmp_path, {"a.png": corpus.plain(0), "b.png": b"bad", "c.png": wide})
    checked = verify(Paths.of(str(tmp_path), ["c.png", "b.png", "a.png"]), Check())
    assert checked.rows.tolist() == [0, 2]
    assert checked.sizes.tolist() == [[5, 3], [8, 8]]
    assert list(checked.paths) == ["c.png", "a.png"]


def test_a_strict_scan_stops_at_the_first_bad_file(tmp_path):
    corpus.write(tmp_path, {"a.png": corpus.plain(0), "b.png": b"bad"})
    with pytest.raises(InputError, match=r"b\.png': not an image.*`strict`"):
        scan(tmp_path, Check(strict=True))


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is open to root")
def test_a_closed_folder_is_listed(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    (skipped,) = scan(tmp_path, Check()).skipped
    assert skipped.reason == "a folder: Permission denied"
    with pytest.raises(InputError, match="closed"):
        scan(tmp_path, Check(strict=True))


def test_a_root_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="There is no folder"):
        scan(tmp_path / "absent", Check())
    with pytest.raises(InputError, match="is a file; expected a folder"):
        scan(tmp_path / "file", Check())


def test_the_decoding_of_a_check_is_without_the_check():
    assert Check(size=9, fit="pad", strict=True).decoding == Decoding(size=9, fit="pad")


def test_a_long_check_shows_how_far_it_is_where_somebody_watches(tmp_path):
    corpus.write(tmp_path, {f"{number}.png": corpus.plain(number) for number in range(5)})
    text = io.StringIO()
    found = scan(tmp_path, Check(), Progress(Console(file=text, force_terminal=True, width=120)))
    assert len(found.paths) == 5
    assert "check pictures" in text.getvalue()
    assert "5/5" in text.getvalue()
    quiet = io.StringIO()
    scan(tmp_path, Check(), Progress(Console(file=quiet, force_terminal=False)))
    assert quiet.getvalue() == ""
