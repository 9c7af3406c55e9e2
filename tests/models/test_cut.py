import copy

import pytest
import timm
import torch
from torch import nn

from metagcd.errors import InputError
from metagcd.models.cut import Skip, cut, first_trained, stages_of

VIT = {"img_size": 32, "depth": 3, "embed_dim": 24, "num_heads": 3, "num_classes": 0}


def test_stages_are_listed_in_order():
    assert stages_of(timm.create_model("vit_small_patch16_224", **VIT)) == ["blocks.0", "blocks.1", "blocks.2"]
    assert stages_of(timm.create_model("resnet18")) == ["layer1", "layer2", "layer3", "layer4"]
    assert stages_of(nn.Linear(1, 1)) == []


def test_the_last_stage_is_the_first_trained_by_default():
    network = timm.create_model("vit_small_patch16_224", **VIT)
    assert first_trained(network, None) == 2
    assert first_trained(network, 1) == 1
    assert first_trained(nn.Linear(1, 1), None) == 0


@pytest.mark.parametrize("first", [3, -1])
def test_a_stage_out_of_range_is_refused(first):
    with pytest.raises(InputError, match=r"\[0, 2\]"):
        first_trained(timm.create_model("vit_small_patch16_224", **VIT), first)


def test_a_subclass_with_another_forward_is_not_cut():
    distilled = timm.create_model("deit_tiny_distilled_patch16_224", **VIT)
    assert stages_of(distilled) == []
    with pytest.raises(InputError, match="cannot be cut"):
        first_trained(distilled, 1)


@pytest.mark.parametrize("first", [1, 2])
def test_what_leaves_the_first_part_is_what_enters_the_block(first):
    network = timm.create_model("vit_small_patch14_reg4_dinov2", **{**VIT, "img_size": 28}).eval()
    before, after = cut(copy.deepcopy(network), first)
    images, seen = torch.randn(2, 3, 28, 28), []
    network.blocks[first].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    tokens = before.forward_features(images)
    network(images)
    torch.testing.assert_close(tokens, seen[0])
    torch.testing.assert_close(after.forward_head(after.forward_features(tokens)), network(images))


def test_a_cut_at_zero_leaves_the_network_whole():
    network = timm.create_model("vit_small_patch16_224", **VIT)
    before, after = cut(network, 0)
    assert isinstance(before, nn.Identity)
    assert after is network


def test_the_rotation_of_positions_neither_trains_nor_is_augmented_in_the_tail():
    network = timm.create_model("vit_small_patch16_rope_mixed_224", **VIT).eval()
    assert any("rope" in name for name, _ in network.named_parameters())
    before, after = cut(network, 2)
    assert any("rope" in name for name, _ in before.named_parameters())
    assert not any("rope" in name for name, _ in after.named_parameters())
    angles = after.rope.get_embed()
    assert torch.equal(after.train().rope.get_embed(), angles)
    assert not angles.requires_grad


def test_what_stands_where_a_part_was_returns_its_input():
    x = torch.randn(2)
    assert Skip()(x, rope=None, attn_mask=None) is x
