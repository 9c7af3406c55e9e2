import dataclasses
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.config import digest, from_mapping, from_toml, read_toml, settings, to_mapping, to_toml
from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.methods import METHODS
from metagcd.methods.frozen import FrozenConfig
from metagcd.methods.gcd import GcdConfig
from metagcd.models import ENCODERS
from metagcd.models.bank_config import BankConfig


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5
    names: tuple[str, ...] = ("a",)


@dataclass(frozen=True, kw_only=True)
class Outer:
    count: int = 3
    rate: float = 0.1
    on: bool = True
    word: str = "x"
    kind: Literal["one", "two"] = "one"
    order: Literal["natural", "seeded"] | tuple[int, ...] = "natural"
    limit: float | None = None
    split: int | None = 0
    inner: Inner = field(default_factory=Inner)


def refused(values):
    with pytest.raises(InputError) as error:
        from_mapping(Outer(), values)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_not_said_stays_as_it_is_on_every_level():
    base = Outer(count=5, inner=Inner(rate=0.25))
    found = from_mapping(base, {"word": "y", "inner": {"names": ["b", "c"]}})
    assert found == Outer(count=5, word="y", inner=Inner(rate=0.25, names=("b", "c")))
    assert from_mapping(base, {}) == base
    assert base == Outer(count=5, inner=Inner(rate=0.25))


def test_an_unknown_key_is_named_with_the_nearest_one():
    assert refused({"cuont": 1}).startswith("Unknown key `cuont`. Did you mean `count`? There are: count, ")
    assert "Unknown key `inner.rat`. Did you mean `inner.rate`?" in refused({"inner": {"rat": 1.0}})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"count": "many"}, "`count` must be integer; got 'many'."),
        ({"count": 1.5}, "`count` must be integer; got 1.5."),
        ({"count": True}, "`count` must be integer; got True."),
        ({"rate": "x"}, "`rate` must be number; got 'x'."),
        ({"rate": True}, "`rate` must be number; got True."),
        ({"on": 1}, "`on` must be true or false; got 1."),
        ({"word": 3}, "`word` must be text; got 3."),
        ({"inner": 3}, "`inner` must be a table; got 3."),
        ({"inner": {"names": "a"}}, "`inner.names` must be a list of texts; got 'a'."),
        ({"inner": {"names": ["a", 2]}}, "`inner.names[1]` must be text; got 2."),
        ({"kind": "tow"}, "Unknown value of `kind` `tow`. Did you mean `two`? There are: one, two."),
        ({"kind": ["one"]}, "Unknown value of `kind` `['one']`. Did you mean `one`? There are: one, two."),
        ({"count": "none"}, "`count` must be integer; got 'none'."),
        ({"limit": "x"}, "`limit` must be number or nothing; got 'x'."),
        ({"order": 3}, "`order` must be 'natural' or 'seeded' or a list of integers; got 3."),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_what_it_should_be(values, words):
    assert refused(values) == words


def test_a_whole_number_is_a_number():
    found = from_mapping(Outer(), {"rate": 2, "limit": 3})
    assert (found.rate, found.limit) == (2.0, 3.0)
    assert (type(found.rate), type(found.limit)) == (float, float)


def test_alternatives_are_taken_as_what_they_are():
    assert from_mapping(Outer(), {"order": "seeded"}).order == "seeded"
    assert from_mapping(Outer(), {"order": [2, 0, 1]}).order == (2, 0, 1)
    assert from_mapping(Outer(limit=1.0), {"limit": None}).limit is None


outers = st.builds(
    Outer,
    count=st.integers(-(2**60), 2**60),
    rate=st.floats(allow_nan=False),
    on=st.booleans(),
    word=st.text(st.characters(exclude_categories=["Cs"])),
    kind=st.sampled_from(["one", "two"]),
    order=st.sampled_from(["natural", "seeded"]) | st.lists(st.integers(0, 99), max_size=3).map(tuple),
    limit=st.none() | st.floats(0, 9),
    split=st.none() | st.integers(0, 9),
    inner=st.builds(Inner, rate=st.floats(0, 1), names=st.lists(st.text("abü\"'\\\n"), max_size=3).map(tuple)),
)


@given(outers)
def test_every_config_survives_a_file(config):
    assert from_toml(Outer(), to_toml(config)) == config


@given(outers, outers)
def test_equal_configs_and_no_others_have_equal_digests(one, other):
    assert (digest(one) == digest(other)) == (to_toml(one) == to_toml(other)) == (one == other)


def test_what_is_absent_is_written_so_that_a_file_can_take_a_value_away():
    base = Outer(limit=1.0, split=3)
    assert to_mapping(Outer(limit=None, split=None)).items() >= {"limit": "none", "split": "none"}.items()
    assert from_toml(base, to_toml(Outer(limit=None, split=None))) == Outer(limit=None, split=None)
    assert from_toml(base, "") == base


@pytest.mark.parametrize("registry", [METHODS, pytest.param(ENCODERS, marks=pytest.mark.slow)])  # timm is large
def test_every_component_survives_a_file_with_every_field_absent_that_may_be(registry):
    for name in registry.names():
        default = registry.config_class(name)()
        assert from_toml(default, to_toml(default)) == default
        for entry in dataclasses.fields(default):
            if "None" in str(entry.type):
                config = dataclasses.replace(default, **{entry.name: None})
                assert from_toml(default, to_toml(config)) == config, f"{name}.{entry.name}"


def test_a_component_is_chosen_by_its_name():
    found = from_mapping(RunConfig(), {"method": {"name": "frozen", "restarts": 3}})
    assert found.method == FrozenConfig(restarts=3)
    assert to_mapping(found)["method"] == {"name": "frozen", "restarts": 3}


def test_a_component_without_a_name_keeps_its_kind_and_values():
    base = RunConfig(method=GcdConfig(balance=0.5))
    found = from_mapping(base, {"method": {"restarts": 3, "head": {"width": 99}}})
    assert found.method.balance == 0.5
    assert (found.method.restarts, found.method.head.width) == (3, 99)
    assert from_mapping(base, {"method": {"name": "gcd", "restarts": 3}}).method.balance == 0.5


def test_a_component_of_another_name_starts_afresh():
    base = RunConfig(method=FrozenConfig(restarts=3))
    assert from_mapping(base, {"method": {"name": "gcd"}}).method == GcdConfig()


def test_what_is_wrong_within_a_component_is_named_by_its_whole_path():
    for values, words in (
        ({"method": {"name": "gdc"}}, r"Unknown method `gdc`. Did you mean `gcd`\?"),
        ({"method": {"name": "gcd", "balence": 1}}, r"Unknown key `method.balence`. Did you mean `method.balance`\?"),
        ({"method": {"offline": {"rate": "x"}}}, r"`method.offline.rate` must be number"),
        ({"method": "gcd"}, r"`method` must be a table; got 'gcd'"),
        ({"encoder": {"image_size": 7}}, r"`image_size` 7 is not a multiple"),
    ):
        with pytest.raises(InputError, match=words):
            from_mapping(RunConfig(), values)


def test_a_key_that_was_taken_out_is_refused_with_what_to_do_or_passed_over_in_a_file(tmp_path):
    with pytest.raises(InputError, match=r"`bank\.budget_gb` is no part of .* `metagcd run --bank-budget`"):
        from_mapping(RunConfig(), settings(["bank.budget_gb=5.0"]))
    file, words = tmp_path / "old.toml", []
    file.write_text("[bank]\nviews = 4\nbudget_gb = 5.0\n")
    assert read_toml(RunConfig(), file, passed_over=words).bank == BankConfig(views=4)
    assert len(words) == 1
    assert "METAGCD_BANK_BUDGET" in words[0]
    with pytest.raises(InputError, match=r"budget_gb"):
        read_toml(RunConfig(), file)


def test_a_file_is_read_over_the_base_and_named_when_it_cannot_be(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("split_seed = 4\n[method]\nname = 'frozen'\n")
    found = read_toml(RunConfig(), file)
    assert (found.split_seed, found.method) == (4, FrozenConfig())
    file.write_text("split_seed = \n")
    with pytest.raises(InputError, match=r"run\.toml is not valid TOML"):
        read_toml(RunConfig(), file)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"Cannot read .*run\.toml"):
        read_toml(RunConfig(), file)
    with pytest.raises(InputError, match=r"Cannot read .*absent\.toml: No such file"):
        read_toml(RunConfig(), tmp_path / "absent.toml")


def test_settings_are_the_tables_they_describe():
    words = ["a=1", "b.c=true", "b.d=[1, 2]", "b.e.f=0.5", "g=plain words", 'h="1"', "i=x=y"]
    tables = {"a": 1, "b": {"c": True, "d": [1, 2], "e": {"f": 0.5}}, "g": "plain words", "h": "1", "i": "x=y"}
    assert settings(words) == tables
    assert from_mapping(RunConfig(), settings(["split_seed=none"])).split_seed is None


@pytest.mark.parametrize(
    ("words", "said"), [(["a"], "key=value; got `a`"), (["=1"], "key=value"), (["a=1", "a.b=2"], "`a.b=2`")]
)
def test_a_setting_that_describes_nothing_is_named(words, said):
    with pytest.raises(InputError, match=said):
        settings(words)


def test_a_setting_can_be_read_from_a_file_as_a_list_of_words_or_a_value(tmp_path):
    (tmp_path / "order.txt").write_text("3 1\n2\n")
    (tmp_path / "value.toml").write_text("[0.5, 1.5]\n")
    found = settings([f"protocol.class_order=@{tmp_path / 'order.txt'}", f"zoom=@{tmp_path / 'value.toml'}"])
    assert found == {"protocol": {"class_order": [3, 1, 2]}, "zoom": [0.5, 1.5]}
    with pytest.raises(InputError, match=r"Cannot read .*none\.txt: No such file"):
        settings([f"a=@{tmp_path / 'none.txt'}"])
