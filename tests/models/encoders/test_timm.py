import pytest
import torch

from metagcd.config import from_toml, to_toml
from metagcd.errors import InputError
from metagcd.models import build_encoder, encoder_of
from metagcd.models.encoders.timm import TimmConfig
from metagcd.models.weights import save_weights
from metagcd.seeds import Seeds

SMALL = "mobilenetv3_small_050"


def test_a_name_of_timm_builds_a_network_with_its_own_input_specification():
    encoder = build_encoder("tf_efficientnet_lite0", weights="random")
    assert encoder.spec.size == 224
    assert encoder.spec.mean == (0.5, 0.5, 0.5)
    assert encoder.spec.crop_fraction == 0.875
    assert encoder.dim == 1280
    assert encoder.embed(torch.randn(1, 3, 64, 64)).shape == (1, 1280)


def test_a_vision_transformer_takes_another_image_size():
    encoder = build_encoder("vit_tiny_patch16_224", weights="random", image_size=32)
    assert encoder.spec.size == 32
    stored = encoder.trunk(torch.randn(2, 3, 32, 32))
    assert stored.shape == (2, 5, 192)
    assert encoder.tail(stored).shape == (2, 192)


def test_equal_seeds_give_equal_random_weights_and_leave_the_global_state():
    state = torch.random.get_rng_state()
    config = TimmConfig(model=SMALL, weights="random")
    first, second, other = (encoder_of(config, Seeds(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert first.weights_digest == second.weights_digest != other.weights_digest


def test_saved_weights_of_a_timm_network_come_back_at_another_cut(tmp_path):
    encoder = build_encoder(SMALL, weights="random", seed=4)
    save_weights(encoder, tmp_path / "net.safetensors")
    again = build_encoder(SMALL, weights=str(tmp_path / "net.safetensors"), trainable_from=1)
    images = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(again.embed(images), encoder.embed(images))
    assert again.weights.tensors == encoder.weights.tensors


def test_a_network_without_known_stages_trains_whole_or_not_at_all():
    whole = build_encoder("levit_128s", weights="random", trainable_from=0)
    assert not list(whole.trunk.parameters())
    with pytest.raises(InputError, match="set `trainable_from` to 0"):
        build_encoder("levit_128s", weights="random", trainable_from=1)


@pytest.mark.parametrize("first", [-1, 6])
def test_a_stage_that_is_not_there_is_refused(first):
    with pytest.raises(InputError, match=r"`trainable_from` must be in \[0, 5\]"):
        build_encoder(SMALL, weights="random", trainable_from=first)


def test_an_image_size_that_is_no_multiple_of_the_patch_is_refused():
    with pytest.raises(InputError, match="multiple of 16"):
        build_encoder("vit_tiny_patch16_224", weights="random", image_size=40)


@pytest.mark.parametrize(
    ("name", "message"),
    [("vit_small_patch16_224.dyno", "Did you mean `dino`"), ("resnet5", "resnet50"), ("tinny", "tiny")],
)
def test_an_unknown_name_or_tag_is_told_with_the_nearest(name, message):
    with pytest.raises(InputError, match=message):
        build_encoder(name, weights="random")


def test_the_config_survives_toml():
    config = TimmConfig(model=SMALL, image_size=64, trainable_from=2, trunk_dtype="bfloat16")
    assert from_toml(TimmConfig(), to_toml(config)) == config
    assert from_toml(TimmConfig(), to_toml(TimmConfig())) == TimmConfig()
