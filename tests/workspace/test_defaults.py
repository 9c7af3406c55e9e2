import pytest
from workspace import small

from metagcd.data.rows import ArrayImages
from metagcd.errors import InputError
from metagcd.workspace import defaults
from metagcd.workspace.defaults import Facts, choose, choose_encoder, lengths, short_side


def facts(**changes):
    return Facts(**{"images": 640, "classes": 8, "side": 300, "device": "cpu"} | changes)


def choice(**changes):
    return choose(facts(**changes), method="metagcd", encoder="tiny", settings={})


def with_weights_of(monkeypatch, *models):
    """Let pretrained weights of these networks be here, and no others."""

    def found(model):
        if model not in models:
            raise InputError("none")
        return model, None

    monkeypatch.setattr("metagcd.models.sources.pretrained_file", found)


def test_small_images_get_a_smaller_network():
    assert (choice(side=8).config.encoder.image_size, choice().config.encoder.image_size) == (16, 32)


def test_few_images_are_shown_more_often():
    few, many = choice(images=64).config.method, choice(images=64_000).config.method
    assert (few.warmup_epochs, many.warmup_epochs) == (200, 10)


def test_fewer_than_three_classes_leave_no_pseudo_sessions():
    assert choice().config.method.meta
    assert not choice(classes=2).config.method.meta


def test_every_choice_is_told():
    words = dict(choice().words)
    assert words["images"] == "640 to learn from, 8 classes"
    assert words["encoder"] == "tiny"
    assert "66 epochs, 30 meta-tasks, 20 updates per session" in words["method"]


def test_settings_come_before_defaults():
    found = choose(facts(), method="metagcd", encoder="tiny", settings={"method": {"tasks": 7}, "seed": 3})
    assert (found.config.method.tasks, found.config.seed) == (7, 3)
    assert "7 meta-tasks" in dict(found.words)["method"]
    with pytest.raises(InputError, match=r"Did you mean `method\.tasks`"):
        choose(facts(), method="metagcd", encoder="tiny", settings={"method": {"task": 7}})


def test_lengths_are_given_only_to_methods_that_have_them():
    from metagcd.methods import METHODS

    assert lengths(METHODS.config_class("frozen")(), facts(), scratch=True) == {}
    assert set(lengths(METHODS.config_class("gcd")(), facts(), scratch=False)) == {"offline_epochs"}


@pytest.mark.parametrize(
    ("there", "device", "model"),
    [
        (("vit_small_patch16_224.dino", "tf_efficientnet_lite0"), "cpu", "vit_small_patch16_224.dino"),
        (("vit_base_patch16_224.dino",), "cuda", "vit_base_patch16_224.dino"),
        (("tf_efficientnet_lite0",), "cpu", "tf_efficientnet_lite0"),
    ],
)
def test_the_best_network_whose_weights_can_be_had_is_taken(monkeypatch, there, device, model):
    with_weights_of(monkeypatch, *there)
    network, _, warning = choose_encoder("auto", facts(device=device))
    assert (network.model, warning) == (model, "")


def test_without_any_weights_a_small_network_is_taken_with_a_warning(monkeypatch):
    with_weights_of(monkeypatch)
    network, _, warning = choose_encoder("auto", facts())
    assert network == choose_encoder("tiny", facts())[0]
    assert "far weaker" in warning
    assert choose_encoder("tiny", facts())[2] == ""


def test_an_encoder_can_be_named():
    assert choose_encoder("resnet18", facts())[0].model == "resnet18"
    assert type(choose_encoder("timm", facts())[0]) is type(choose_encoder("resnet18", facts())[0])


def test_the_shorter_side_is_that_of_the_originals(tmp_path):
    import numpy as np

    from metagcd.data.sources.folder import FolderConfig, folder

    assert short_side(ArrayImages(np.zeros((3, 20, 10, 3), dtype=np.uint8))) == 10
    small.labelled(tmp_path / "labelled")
    assert short_side(folder(FolderConfig(path=str(tmp_path / "labelled"))).train) == 8


def test_numbers_of_presets_are_taken_from_the_presets():
    assert choice().config.method.unsupervised_temperature == 0.2
    assert defaults._of_preset("frozen-digits") == {}
