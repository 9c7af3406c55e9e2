import hashlib
from argparse import Namespace

import pytest
import timm
import torch
from safetensors.torch import save_file

from metagcd.errors import InputError
from metagcd.models import build_encoder
from metagcd.models.weights import load_into, read_weights, save_weights

VIT = {"depth": 2, "embed_dim": 24, "num_heads": 3, "num_classes": 0}


def vit(size=32, name="vit_small_patch16_224.dino", **arguments):
    return timm.create_model(name, img_size=size, **{**VIT, **arguments})


def same(model, other):
    return all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("cut", [0, 2])
def test_saved_weights_come_back_wherever_the_network_is_cut(tmp_path, cut):
    encoder = build_encoder("tiny", trainable_from=1, seed=3)
    path = tmp_path / "tiny.safetensors"
    save_weights(encoder, path)
    again = build_encoder("tiny", trainable_from=cut, weights=str(path))
    images = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(again.embed(images), encoder.embed(images))
    assert again.weights.source == str(path)
    assert again.weights.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert again.weights.tensors == encoder.weights.tensors


def test_a_dino_training_checkpoint_is_read(tmp_path):
    source, target = vit(), vit()
    path = tmp_path / "checkpoint.pth"
    state = {f"module.backbone.{name}": tensor for name, tensor in source.state_dict().items()}
    head = {"module.head.mlp.0.weight": torch.zeros(4, 24)}
    rest = {"student": {}, "optimizer": {"state": {}}, "epoch": 100, "args": Namespace(arch="vit_small", lr=5e-4)}
    torch.save({"teacher": {**state, **head}, **rest}, path)
    assert not same(source, target)
    load_into(target, read_weights(path), origin="checkpoint")
    assert same(source, target)


def test_an_official_dino_backbone_is_read(tmp_path):
    source, target = vit(), vit()
    torch.save(source.state_dict(), tmp_path / "dino_deitsmall16_pretrain.pth")
    load_into(target, read_weights(tmp_path / "dino_deitsmall16_pretrain.pth"), origin="dino")
    assert same(source, target)


@pytest.mark.parametrize("size", [28, 56])
@pytest.mark.parametrize("name", ["vit_small_patch14_dinov2.lvd142m", "vit_small_patch14_reg4_dinov2.lvd142m"])
def test_an_official_dinov2_file_is_read_at_any_image_size(name, size):
    source, target, images = vit(28, name).eval(), vit(size, name).eval(), torch.ones(1, 3, size, size)
    official = {key.replace("reg_token", "register_tokens"): tensor for key, tensor in source.state_dict().items()}
    official["mask_token"] = torch.zeros(1, 24)
    if "reg4" in name:  # timm adds no position to the class token of these
        official["pos_embed"] = torch.cat([torch.zeros(1, 1, 24), official["pos_embed"]], dim=1)
    load_into(target, official, origin="dinov2")
    source.set_input_size((size, size))
    torch.testing.assert_close(target.forward_features(images), source.forward_features(images))


def test_positions_are_resized_to_another_image_size():
    source, target = vit(32), vit(64)
    load_into(target, source.state_dict(), origin="smaller")
    assert target.pos_embed.shape == (1, 17, 24)
    assert torch.equal(target.pos_embed[:, :1], source.pos_embed[:, :1])
    torch.testing.assert_close(target.pos_embed[:, 1:].mean(1), source.pos_embed[:, 1:].mean(1), atol=0.02, rtol=0)
    assert torch.equal(target.norm.weight, source.norm.weight)


@pytest.mark.parametrize("other", [{"embed_dim": 48}, {"depth": 3}, {"init_values": 1e-5}])
def test_weights_of_another_network_are_refused_by_the_names_of_the_first_tensors(other):
    with pytest.raises(
        InputError, match=r"The weights other\.pth do not fit .* tensors differ: .*(blocks|token)"
    ) as error:
        load_into(vit(), vit(**other).state_dict(), origin="other.pth")
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)


def test_weights_of_another_family_are_refused():
    with pytest.raises(InputError, match="do not fit"):
        load_into(vit(), timm.create_model("resnet18").state_dict(), origin="resnet.pth")


def test_counts_of_batches_may_be_missing():
    model = timm.create_model("mobilenetv3_small_050", num_classes=0)
    state = {name: t for name, t in model.state_dict().items() if not name.endswith("num_batches_tracked")}
    load_into(model, state, origin="old")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match="no file of weights"):
        build_encoder("tiny", weights=str(tmp_path / "absent.pth"))


@pytest.mark.parametrize("name", ["broken.safetensors", "broken.pth"])
def test_a_broken_file_is_told_in_one_line(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"this is no network")
    with pytest.raises(InputError, match=f"Cannot read the weights .*{name}") as error:
        read_weights(path)
    assert "\n" not in str(error.value)


class Trap:
    def __reduce__(self):
        return print, ("executed",)


def test_a_checkpoint_that_would_run_code_is_refused(tmp_path, capsys):
    path = tmp_path / "trap.pth"
    torch.save({"model": Trap()}, path)
    with pytest.raises(InputError, match="Cannot read the weights"):
        read_weights(path)
    assert capsys.readouterr().out == ""


def test_a_file_without_named_tensors_is_told(tmp_path):
    path = tmp_path / "list.pth"
    torch.save([torch.zeros(1)], path)
    with pytest.raises(InputError, match="hold a list"):
        read_weights(path)


def test_safetensors_of_the_wrong_shape_are_refused_on_building(tmp_path):
    path = tmp_path / "wrong.safetensors"
    save_file({"embedding.cls": torch.zeros(7)}, path)
    with pytest.raises(InputError, match=r"embedding\.cls is \(7,\), not \(96,\)"):
        build_encoder("tiny", weights=str(path))
