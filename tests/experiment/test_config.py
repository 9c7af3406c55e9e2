import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.config import from_mapping, from_toml, to_mapping, to_toml
from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.methods.frozen import FrozenConfig


@pytest.mark.parametrize("seeds", [(), (1, 1), (0, -1)])
def test_seeds_that_name_no_set_of_repetitions_are_refused(seeds):
    with pytest.raises(InputError, match="`seeds` must be different numbers of 0 or more"):
        RunConfig(seeds=seeds)


def test_the_title_is_method_and_source():
    assert RunConfig().title == "gcd-digits"
    assert RunConfig(method=FrozenConfig()).title == "frozen-digits"


runs = st.fixed_dictionaries(
    {
        "source": st.fixed_dictionaries({"name": st.just("digits"), "test_fraction": st.floats(0.1, 0.9)}),
        "protocol": st.fixed_dictionaries(
            {
                "known": st.integers(1, 9),
                "novel": st.lists(st.integers(0, 3), min_size=1, max_size=4),
                "class_order": st.sampled_from(["natural", "seeded", [2, 1, 0]]),
                "redraw": st.booleans(),
            }
        ),
        "split": st.sampled_from(["", "a/split.json"]),
        "split_seed": st.none() | st.integers(0, 9),
        "encoder": st.fixed_dictionaries({"name": st.just("tiny"), "width": st.sampled_from([32, 64])}),
        "augmentation": st.fixed_dictionaries(
            {"shift": st.integers(0, 3), "flip": st.floats(0, 1), "padding": st.sampled_from(["zero", "reflect"])}
        ),
        "method": st.fixed_dictionaries({"name": st.just("frozen"), "restarts": st.integers(1, 9)})
        | st.fixed_dictionaries(
            {
                "name": st.just("gcd"),
                "balance": st.floats(0, 1),
                "online": st.fixed_dictionaries({"clip": st.none() | st.floats(0.1, 9)}),
            }
        ),
        "readout": st.fixed_dictionaries({"restarts": st.integers(1, 9)}),
        "novel_given": st.booleans(),
        "seeds": st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True),
    }
)


@given(runs)
def test_every_run_config_survives_a_file(values):
    config = from_mapping(RunConfig(), values)
    assert from_toml(RunConfig(), to_toml(config)) == config
    written = to_mapping(config)
    assert all(written[key] == values[key] for key in ("split", "novel_given", "seeds"))
    assert all(written["method"][key] == value for key, value in values["method"].items() if key != "online")


def test_the_digest_changes_with_every_field_and_not_with_the_order_of_the_file():
    changes = [
        {"source": {"test_fraction": 0.3}},
        {"protocol": {"known": 6}},
        {"split": "x.json"},
        {"split_seed": 1},
        {"encoder": {"width": 64}},
        {"augmentation": {"noise": 0.1}},
        {"bank": {"views": 4}},
        {"method": {"balance": 0.4}},
        {"readout": {"restarts": 3}},
        {"novel_given": False},
        {"seeds": [0]},
    ]
    assert {next(iter(change)) for change in changes} == {entry.name for entry in dataclasses.fields(RunConfig)}
    configs = [RunConfig(), RunConfig(split_seed=None), *(from_mapping(RunConfig(), change) for change in changes)]
    assert len({config.digest for config in configs}) == len(configs)
    table = to_mapping(RunConfig())
    assert from_mapping(RunConfig(), dict(reversed(table.items()))).digest == RunConfig().digest
    assert len(RunConfig().digest) == 10
