import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from official import md5, tar_gz
from rich.console import Console

from metagcd.data.archives import Archive, ByHand
from metagcd.data.download import CHUNK, fetch, get, obtain, origins
from metagcd.errors import InputError
from metagcd.progress import Progress


@dataclass
class Site:
    """A server on this machine that offers one file, and what it was asked."""

    content: bytes
    url: str = ""
    ranges: bool = True
    sends_at_most: int | None = None
    """Bytes after which it hangs up."""
    asked: list[str] = field(default_factory=list)


def handler_of(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            site.asked.append(wanted)
            if self.path != "/birds.tgz":
                self.send_error(404)
                return
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and site.ranges else 0
            if start >= len(site.content):
                self.send_error(416)
                return
            body = site.content[start:]
            self.send_response(206 if wanted and site.ranges else 200)
            if wanted and site.ranges:
                self.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: site.sends_at_most])

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    noise = np.random.default_rng(0).bytes(2 * CHUNK + 1000)
    packed = tar_gz(tmp_path / "made.tgz", {"birds/noise": noise, "birds/1.txt": b"one"})
    site = Site(content=packed.read_bytes())
    packed.unlink()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(site)) as server:
        site.url = f"http://127.0.0.1:{server.server_port}/birds.tgz"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        server.shutdown()
        thread.join(timeout=5)


@pytest.fixture
def birds(site: Site, tmp_path: Path) -> Archive:
    copy = tmp_path / "copy"
    copy.write_bytes(site.content)
    return Archive(source="birds", url=site.url, file="birds.tgz", md5=md5(copy), folder="birds")


def refusal(archive: Archive, root: Path) -> str:
    with pytest.raises(InputError) as error:
        fetch(archive, root, Progress())
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_whole_archive_arrives_under_its_name(site: Site, birds: Archive, tmp_path: Path) -> None:
    root = tmp_path / "not/there/yet"
    assert fetch(birds, root, Progress()).read_bytes() == site.content
    assert [path.name for path in root.iterdir()] == ["birds.tgz"]
    assert site.asked == [""]


def test_an_archive_that_is_there_is_not_asked_for_again(site: Site, birds: Archive, tmp_path: Path) -> None:
    fetch(birds, tmp_path, Progress())
    fetch(birds, tmp_path, Progress())
    assert len(site.asked) == 1


def test_an_interrupted_download_continues_where_it_broke_off(site: Site, birds: Archive, tmp_path: Path) -> None:
    site.sends_at_most = CHUNK + 77
    assert "again to continue" in refusal(birds, tmp_path)
    assert (tmp_path / "birds.tgz.part").stat().st_size == CHUNK + 77
    assert not (tmp_path / "birds.tgz").exists()
    site.sends_at_most = None
    assert fetch(birds, tmp_path, Progress()).read_bytes() == site.content
    assert site.asked == ["", f"bytes={CHUNK + 77}-"]
    assert not (tmp_path / "birds.tgz.part").exists()


def test_a_server_that_knows_no_ranges_sends_everything_again(site: Site, birds: Archive, tmp_path: Path) -> None:
    (tmp_path / "birds.tgz.part").write_bytes(site.content[:500])
    site.ranges = False
    assert fetch(birds, tmp_path, Progress()).read_bytes() == site.content
    assert site.asked == ["bytes=500-"]


def test_a_part_that_is_already_whole_is_checked_and_kept(site: Site, birds: Archive, tmp_path: Path) -> None:
    (tmp_path / "birds.tgz.part").write_bytes(site.content)
    assert fetch(birds, tmp_path, Progress()).read_bytes() == site.content


def test_a_wrong_checksum_is_refused_and_the_part_removed(birds: Archive, tmp_path: Path) -> None:
    root = tmp_path / "root"
    message = refusal(replace(birds, md5="0" * 32), root)
    assert birds.url in message
    assert "0" * 32 in message
    assert list(root.iterdir()) == []


def test_a_file_of_that_name_with_another_checksum_is_left_alone(birds: Archive, site: Site, tmp_path: Path) -> None:
    (tmp_path / "birds.tgz").write_bytes(b"mine")
    assert str(tmp_path / "birds.tgz") in refusal(birds, tmp_path)
    assert (tmp_path / "birds.tgz").read_bytes() == b"mine"
    assert site.asked == []


def test_an_address_without_the_file_is_named(birds: Archive, tmp_path: Path) -> None:
    gone = replace(birds, url=birds.url.replace("birds.tgz", "gone.tgz"))
    assert refusal(gone, tmp_path).startswith(f"{gone.url} answers 404 Not Found")
    assert not (tmp_path / "birds.tgz.part").exists()


def test_a_server_that_is_not_there_is_named(birds: Archive, tmp_path: Path) -> None:
    with socket.socket() as held:  # bound but not listening: nobody answers at this port
        held.bind(("127.0.0.1", 0))
        away = replace(birds, url=f"http://127.0.0.1:{held.getsockname()[1]}/birds.tgz")
        assert refusal(away, tmp_path) == (
            f"Cannot reach {away.url}: Connection refused; run the command again to continue."
        )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only some systems have a device that is always full")
def test_a_full_disk_is_one_line_that_says_how_to_go_on(birds: Archive, tmp_path: Path) -> None:
    (tmp_path / "birds.tgz.part").symlink_to("/dev/full")
    message = refusal(birds, tmp_path)
    assert "No space left on device; make room and run the command again" in message
    assert str(tmp_path / "birds.tgz.part") in message


def test_a_root_that_cannot_be_made_is_named(birds: Archive, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file/root") in refusal(birds, tmp_path / "file/root")


def test_progress_is_drawn_in_mebibytes(birds: Archive, tmp_path: Path) -> None:
    screen = StringIO()
    fetch(birds, tmp_path, Progress(Console(file=screen, force_terminal=True, width=100)))
    assert "birds.tgz (MiB)" in screen.getvalue()
    assert "3/3" in screen.getvalue()


def test_what_is_missing_is_fetched_and_unpacked_and_then_left_alone(
    site: Site, birds: Archive, tmp_path: Path
) -> None:
    folder = obtain(birds, tmp_path)
    assert (folder / "1.txt").read_bytes() == b"one"
    assert obtain(birds, tmp_path) == folder
    assert len(site.asked) == 1


def test_what_needs_a_login_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Log in at example\.org\."):
        obtain(ByHand(source="cars", folder="cars", instructions="Log in at example.org."), tmp_path)


def test_an_unknown_data_set_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean `cifar100`"):
        get("cifar1000", tmp_path)


def test_a_source_without_a_home_cannot_be_downloaded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown data set `digits`"):
        get("digits", tmp_path)


def test_a_data_set_that_is_there_is_not_downloaded(tmp_path: Path) -> None:
    (tmp_path / "tiny-imagenet-200").mkdir()
    assert get("tiny_imagenet", tmp_path) == tmp_path / "tiny-imagenet-200"


def test_every_published_data_set_says_where_it_comes_from() -> None:
    known = origins()
    assert {name for name, origin in known.items() if isinstance(origin, ByHand)} == {"imagenet100", "stanford_cars"}
    assert {"cifar10", "cifar100", "tiny_imagenet", "cub200", "fgvc_aircraft"} <= known.keys()
    for name, origin in known.items():
        assert origin.source == name
        assert isinstance(origin, ByHand) or re.fullmatch("[0-9a-f]{32}", origin.md5)
