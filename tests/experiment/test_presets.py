import tomllib

import pytest

from metagcd.data import SOURCES
from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.experiment.offline import offline_fields
from metagcd.experiment.presets import FOLDER, load_preset, overlaid, preset_mapping, preset_names
from metagcd.methods import METHODS
from metagcd.protocol import named_protocol


@pytest.mark.parametrize("name", [name for name in preset_names() if name.endswith("-digits")])
def test_every_preset_for_the_digits_is_a_configuration_for_them(name):
    config = load_preset(name)
    assert type(config) is RunConfig
    assert config.title == name
    assert config.protocol == named_protocol("digits")
    assert (config.augmentation.flip, config.augmentation.shift) == (0.0, 2)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_names_parts_that_there_are(name):
    table = preset_mapping(name)
    assert table["method"]["name"] in METHODS.names()
    assert table["source"]["name"] in SOURCES.names()
    assert set(table) <= set(RunConfig.__dataclass_fields__)


def test_every_method_has_a_preset_on_every_data_set():
    stems = [entry.name.removesuffix(".toml") for entry in (FOLDER / "data").iterdir()]
    assert "digits" in stems
    assert {f"{method}-{data}" for method in METHODS.names() for data in stems} <= set(preset_names())


def test_a_method_without_a_file_is_put_on_the_data_set_as_it_comes():
    composed = preset_mapping("frozen-digits")
    assert composed.pop("method") == {"name": "frozen"}
    assert composed == {key: value for key, value in preset_mapping("gcd-digits").items() if key != "method"}
    assert load_preset("frozen-digits").method == METHODS.config_class("frozen")()


def test_a_file_lies_on_top_of_what_it_includes():
    own = tomllib.loads((FOLDER / "metagcd-digits.toml").read_text(encoding="utf-8"))
    assert "data/digits" in own["include"]
    table = preset_mapping("metagcd-digits")
    assert "include" not in table
    assert table["method"] == own["method"]
    assert load_preset("metagcd-digits").method.tasks == own["method"]["tasks"]


def test_an_unknown_preset_is_named_with_the_nearest_one():
    with pytest.raises(InputError, match=r"Unknown preset `gcd-digit`. Did you mean `gcd-digits`\?"):
        load_preset("gcd-digit")


def test_tables_are_laid_over_one_another_key_by_key():
    below = {"seeds": [0, 1], "a": {"x": 1, "y": {"z": 2}}, "b": 1}
    assert overlaid(below, {"a": {"y": {"w": 3}}, "seeds": [5]}) == {
        "seeds": [5],
        "a": {"x": 1, "y": {"z": 2, "w": 3}},
        "b": 1,
    }
    assert overlaid(below, {}) == below
    assert overlaid({}, below) == below
    assert overlaid(below, {"b": {"c": 1}})["b"] == {"c": 1}
    assert below == {"seeds": [0, 1], "a": {"x": 1, "y": {"z": 2}}, "b": 1}


def test_a_component_of_another_name_starts_afresh_and_of_the_same_name_does_not():
    below = {"method": {"name": "gcd", "balance": 0.5}}
    assert overlaid(below, {"method": {"name": "frozen"}}) == {"method": {"name": "frozen"}}
    assert overlaid(below, {"method": {"name": "gcd", "restarts": 1}})["method"] == {
        "name": "gcd",
        "balance": 0.5,
        "restarts": 1,
    }
    assert overlaid(below, {"method": {"restarts": 1}})["method"]["balance"] == 0.5


def test_a_part_of_a_component_that_names_none_serves_whichever_is_named_on_top():
    part = {"method": {"balance": 0.5, "head": {"width": 8}}}
    assert overlaid(part, {"method": {"name": "gcd", "head": {"hidden": 4}}})["method"] == {
        "name": "gcd",
        "balance": 0.5,
        "head": {"width": 8, "hidden": 4},
    }


def test_rows_that_share_session_0_have_it_from_one_file():
    shared = [load_preset(f"{method}-digits") for method in ("gcd", "rankstats", "frost", "gm")]
    assert offline_fields(shared[0]) is not None
    assert all(offline_fields(config) == offline_fields(shared[0]) for config in shared)
