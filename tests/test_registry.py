import sys
from dataclasses import dataclass

import pytest

from metagcd.errors import InputError
from metagcd.registry import Place, Registry, registered

APPLE = '''"""Fruit."""

from dataclasses import dataclass

from {package} import FRUIT


@dataclass(frozen=True)
class AppleConfig:
    size: int = 1


@FRUIT.register("apple", AppleConfig)
class Apple:
    """Grow on a tree.

    More words.
    """


@FRUIT.register("crab", AppleConfig)
def crab(config):
    """Taste sour."""
'''


@pytest.fixture
def fruit(tmp_path, monkeypatch, request):
    """A package of one registry and one file that registers two components."""
    package = f"fruit_{abs(hash(request.node.name))}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text(
        f"from metagcd.registry import Registry\nFRUIT = Registry('fruit', {package!r})\n"
    )
    (folder / "apple.py").write_text(APPLE.format(package=package))
    (folder / "plain.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    return __import__(package).FRUIT


def test_names_and_summaries_come_from_the_source_text_without_importing_it(fruit):
    assert fruit.names() == ("apple", "crab")
    assert fruit.summary("apple") == "Grow on a tree."
    assert fruit.summary("crab") == "Taste sour."
    assert f"{fruit.package}.apple" not in sys.modules


def test_a_component_is_imported_when_it_is_asked_for(fruit):
    entry = fruit.get("apple")
    module = sys.modules[f"{fruit.package}.apple"]
    assert (entry.name, entry.target, entry.config) == ("apple", module.Apple, module.AppleConfig)
    assert fruit.config_class("crab") is module.AppleConfig


def test_an_unknown_component_is_named_with_the_nearest_one(fruit):
    with pytest.raises(InputError, match=r"Unknown fruit `appel`. Did you mean `apple`\? There are: apple, crab\."):
        fruit.get("appel")


def test_a_component_registered_at_run_time_is_one_like_the_others(fruit):
    @dataclass(frozen=True)
    class PearConfig:
        size: int = 2

    @fruit.register("pear", PearConfig)
    class Pear:
        """Hang low."""

    assert fruit.names() == ("apple", "crab", "pear")
    assert fruit.get("pear").target is Pear
    assert fruit.summary("pear") == "Hang low."
    assert fruit.of(PearConfig()).name == "pear"


def test_two_components_cannot_share_a_name(fruit):
    fruit.get("apple")
    with pytest.raises(ValueError, match="Two fruits are registered as `apple`"):
        fruit.register("apple", int)(str)


def test_a_config_that_belongs_to_nothing_is_refused(fruit):
    with pytest.raises(ValueError, match="No fruit has the config int"):
        fruit.of(3)


def test_only_calls_of_register_with_a_name_written_out_count(tmp_path):
    file = tmp_path / "source.py"
    file.write_text(
        "@R.register('one', C)\nclass One:\n    '''First.'''\n"
        "@other\nclass Two: ...\n"
        "@R.register(NAME, C)\nclass Three: ...\n"
        "@R.register('four', C)\ndef four(): ...\n"
        "def five():\n    @R.register('five', C)\n    class Five: ...\n"
    )
    assert list(registered(file)) == [("one", "First."), ("four", "")]


def test_a_package_that_is_not_there_has_no_components():
    assert Registry("thing", "metagcd.nowhere").names() == ()


def test_places_name_the_module(fruit):
    assert fruit._places["apple"] == Place(f"{fruit.package}.apple", "Grow on a tree.")
