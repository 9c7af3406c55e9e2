import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from official import md5, tar_gz, zipped

from metagcd.data.archives import Archive, ByHand, check, found, place, unpack
from metagcd.errors import InputError

BIRDS = Archive(source="birds", url="https://example.org/birds.tgz", file="birds.tgz", md5="0" * 32, folder="birds")
FILES = {"birds/a/1.txt": b"one", "./birds/2.txt": b"two", "readme.txt": b"beside the folder"}


def one_line(error: pytest.ExceptionInfo[InputError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_an_archive_is_checked_and_its_folder_unpacked_on_first_use(tmp_path: Path, pack) -> None:
    archive = pack(tmp_path / "birds.tgz", FILES)
    folder = place(replace(BIRDS, md5=md5(archive)), tmp_path)
    assert folder == tmp_path / "birds"
    assert (folder / "a/1.txt").read_bytes() == b"one"
    assert (folder / "2.txt").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["birds", "birds.tgz"]


def test_a_folder_that_is_there_is_used_without_its_archive(tmp_path: Path) -> None:
    (tmp_path / "birds").mkdir()
    assert place(BIRDS, tmp_path) == tmp_path / "birds"


def test_the_root_may_be_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "birds").mkdir()
    assert place(BIRDS, tmp_path / "birds") == tmp_path / "birds"


def test_what_is_missing_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        place(BIRDS, tmp_path)
    message = one_line(error)
    assert str(tmp_path) in message
    assert "metagcd data get birds" in message
    assert "--data-root" in message


def test_what_only_its_reader_can_get_is_named_with_instructions(tmp_path: Path) -> None:
    origin = ByHand(source="cars", folder="cars", instructions="Ask the publisher.")
    with pytest.raises(InputError) as error:
        place(origin, tmp_path)
    assert one_line(error) == f"`cars` is not in {tmp_path}: there is no folder `cars`. Ask the publisher."


def test_an_archive_with_another_checksum_is_not_unpacked(tmp_path: Path) -> None:
    archive = tar_gz(tmp_path / "birds.tgz", FILES)
    with pytest.raises(InputError) as error:
        place(BIRDS, tmp_path)
    assert str(archive) in one_line(error)
    assert not (tmp_path / "birds").exists()


@pytest.mark.parametrize("name", ["birds/../../outside.txt", "/outside.txt", "birds\\..\\..\\outside.txt"])
@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path, pack, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    archive = pack(inner / "birds.tgz", {"birds/1.txt": b"one", name: b"evil"})
    with pytest.raises(InputError, match="leads out of its folder") as error:
        unpack(archive, "birds")
    assert str(archive) in one_line(error)
    assert [path.name for path in inner.iterdir()] == ["birds.tgz"]
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]


def test_a_link_in_an_archive_is_passed_over(tmp_path: Path) -> None:
    archive = tmp_path / "birds.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        link = tarfile.TarInfo("birds/link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path.parent)
        tar.addfile(link)
        tar.addfile(tarfile.TarInfo("birds/file"))
    assert [path.name for path in unpack(archive, "birds").iterdir()] == ["file"]


def test_a_broken_archive_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    archive = tar_gz(tmp_path / "birds.tgz", {"birds/noise": bytes(range(256)) * 400})
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(InputError, match="Cannot unpack") as error:
        unpack(archive, "birds")
    assert str(archive) in one_line(error)
    assert [path.name for path in tmp_path.iterdir()] == ["birds.tgz"]


def test_an_archive_without_the_folder_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "birds.zip", {"fish/1.txt": b"one"})
    with pytest.raises(InputError, match="holds no folder `birds`"):
        unpack(archive, "birds")


def test_a_root_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    root = tmp_path / ("x" * 300)
    with pytest.raises(InputError, match="Cannot look for") as error:
        place(BIRDS, root)
    assert str(root) in one_line(error)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Cannot read") as error:
        check(tmp_path / "absent", "0" * 32)
    assert str(tmp_path / "absent") in one_line(error)


def test_an_archive_that_waits_to_be_unpacked_counts_as_found(tmp_path: Path) -> None:
    assert found(BIRDS, tmp_path) is None
    (tmp_path / "birds.tgz").touch()
    assert found(BIRDS, tmp_path) == tmp_path / "birds.tgz"
    (tmp_path / "birds").mkdir()
    assert found(BIRDS, tmp_path) == tmp_path / "birds"
