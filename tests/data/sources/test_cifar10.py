from pathlib import Path

import pytest
from torchvision.datasets import CIFAR10

from metagcd.data import SOURCES
from metagcd.data.sources.cifar10 import Cifar10Config, cifar10
from metagcd.errors import InputError


def test_a_missing_archive_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        cifar10(Cifar10Config(root=str(tmp_path)))
    message = str(error.value)
    assert "\n" not in message
    assert str(tmp_path) in message
    assert CIFAR10.filename in message
    assert "metagcd data get cifar10" in message


def test_a_folder_without_the_official_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / CIFAR10.base_folder).mkdir()
    with pytest.raises(InputError, match="lacks files"):
        cifar10(Cifar10Config(root=str(tmp_path)))


def test_it_comes_from_where_torchvision_gets_it() -> None:
    origin = SOURCES.config_class("cifar10").origin()
    assert (origin.url, origin.md5, origin.source) == (CIFAR10.url, CIFAR10.tgz_md5, "cifar10")
