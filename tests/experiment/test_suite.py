import pytest

from metagcd.config import to_mapping
from metagcd.engine.training import Optimisation
from metagcd.errors import InputError
from metagcd.experiment.presets import load_preset
from metagcd.experiment.suite import Choices, datasets, load_suite, suite_names
from metagcd.methods import METHODS
from metagcd.methods.contrastive import HeadConfig


def suite(name, **chosen):
    return load_suite(name, Choices(**chosen))


def test_there_is_a_suite_for_every_table_and_figure_of_results():
    assert suite_names() == ("figure3", "figure4-classes", "figure4-threshold", "table2", "table3")
    assert "digits" in datasets()


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_has_rows_of_its_own_on_the_digits(name):
    found = suite(name)
    labels, digests = [row.label for row in found.rows], [row.config.digest for row in found.rows]
    assert len(found.rows) > 1
    assert len(set(labels)) == len(set(digests)) == len(labels)
    assert found.reference in {"", *(row.name for row in found.rows)}


def test_table_2_has_every_method_and_the_reference_last():
    labels = [row.label for row in suite("table2").rows]
    assert sorted(labels) == list(METHODS.names())
    assert labels[-1] == "metagcd"


def test_each_row_of_the_ablation_turns_on_one_thing_more():
    baseline, neighbours, soft, whole = (row.config.method for row in suite("table3").rows)
    assert METHODS.of(baseline).name == "gcd"
    assert (neighbours.meta, neighbours.neighbours.weights) == (False, "hard")
    assert (soft.meta, soft.neighbours.weights) == (False, "soft")
    assert (whole.meta, whole.neighbours.weights) == (True, "soft")


def test_rows_that_differ_in_more_than_one_part_are_named():
    stage, head = to_mapping(Optimisation()), to_mapping(HeadConfig())
    loss = {"balance": 0.3, "unsupervised_temperature": 0.2, "supervised_temperature": 0.1, "head": head}
    settings = {"method": {**loss, "offline": stage, "offline_epochs": 9, "warmup": stage, "warmup_epochs": 9}}
    assert suite("table3", overrides=settings).remarks == ()
    settings["method"]["warmup_epochs"] = 8
    remarks = suite("table3", overrides=settings).remarks
    assert [words.partition(" learns")[0] for words in remarks] == ["+ candidate neighbours", "+ soft positiveness"]


def test_a_sweep_changes_one_key_alone():
    found = suite("figure4-threshold", values=(0.5, 0.9))
    assert [row.config.method.neighbours.threshold for row in found.rows] == [0.5, 0.9]
    assert [row.value for row in found.rows] == [0.5, 0.9]
    assert found.quantity == "neighbours.threshold"


def test_pseudo_novel_classes_come_in_every_session_and_leave_some_to_be_labelled():
    found = suite("figure4-classes")
    assert [row.config.method.episode.novel for row in found.rows] == [(1, 1, 1), (2, 2, 2)]
    assert found.remarks == ("Left out, since this data set has too few classes: 3, 4, 5, 6, 7, 8, 9, 10.",)


def test_methods_and_seeds_can_be_chosen():
    found = suite("table2", methods=("gcd", "frozen"), seeds=(4,))
    assert {row.label for row in found.rows} == {"gcd", "frozen"}
    assert {row.config.seeds for row in found.rows} == {(4,)}


def test_another_encoder_takes_the_place_of_the_presets_with_its_own_settings():
    (row,) = suite("figure3", methods=("gcd",), encoder="keras_resnet50").rows
    assert type(row.config.encoder).__name__ == "KerasResNet50Config"
    (row,) = suite("figure3", methods=("gcd",), encoder="tiny").rows
    assert row.config == load_preset("gcd-digits")


@pytest.mark.slow
def test_an_encoder_that_is_not_registered_is_one_of_timm():
    (row,) = suite("figure3", methods=("gcd",), encoder="vit_small_patch16_224.dino").rows
    assert row.config.encoder.model == "vit_small_patch16_224.dino"


def test_settings_of_a_method_hold_for_the_rows_that_have_them():
    found = suite(
        "table2", methods=("gcd", "frozen"), overrides={"method": {"online_updates": 3}, "novel_given": False}
    )
    updates = {row.label: getattr(row.config.method, "online_updates", None) for row in found.rows}
    assert updates == {"frozen": None, "gcd": 3}
    assert not any(row.config.novel_given for row in found.rows)


def test_what_makes_a_row_what_it_is_cannot_be_overridden():
    found = suite("table3", overrides={"method": {"meta": True}})
    assert [getattr(row.config.method, "meta", None) for row in found.rows] == [None, False, False, True]


def test_without_choices_a_row_is_its_preset():
    assert {row.label: row.config for row in suite("figure3").rows} == {
        name: load_preset(f"{name}-digits") for name in ("gcd", "metagcd")
    }


def test_other_choices_make_another_folder():
    folders = {suite("figure3").folder, suite("figure3", seeds=(1,)).folder, suite("figure3", methods=("gcd",)).folder}
    assert len(folders) == 3
    assert suite("figure3").folder in folders
    assert all(folder.startswith("figure3-digits-") for folder in folders)


@pytest.mark.parametrize(
    ("name", "chosen", "told"),
    [
        ("table4", {}, "suite `table4`"),
        ("table2", {"dataset": "digitz"}, "Did you mean `digits`"),
        ("table2", {"methods": ("gdc",)}, "Did you mean `gcd`"),
        ("table2", {"values": (1.0,)}, "sweeps nothing"),
        ("figure3", {"methods": ("frozen",)}, "Nothing is left"),
        ("figure4-threshold", {"methods": ("gcd",)}, "Nothing is left"),
        ("table3", {"overrides": {"method": {"online_update": 3}}}, "`method.online_update`"),
        ("table3", {"overrides": {"method": {"inner": {"steps": 3}}}}, "`method.inner.steps`"),
        ("table3", {"overrides": {"split_sed": 3}}, "Did you mean `split_seed`"),
        ("figure4-threshold", {"overrides": {"seeds": []}}, "`seeds`"),
    ],
)
def test_what_cannot_be_chosen_is_told(name, chosen, told):
    with pytest.raises(InputError, match=told):
        suite(name, **chosen)
