import math

import pytest
import timm
import torch
from timm.models.vision_transformer import Block
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from metagcd.models.vit_tail import ClassTokenBlock, class_attention, fold_last_block, foldable

VIT = {"img_size": 32, "depth": 2, "embed_dim": 12, "num_heads": 3, "num_classes": 0}


def block(**arguments):
    made = Block(12, 3, **{"qkv_bias": True, **arguments}).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made


def tokens(count=5):
    return torch.randn(2, count, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def spelled_out(attention, h):
    """The attention output of the first token of one image, number by number."""
    dim, width = h.shape[1], attention.head_dim
    weight, bias = attention.qkv.weight, attention.qkv.bias

    def projected(part, head, token):
        start = part * dim + head * width
        return [
            sum(weight[row, column] * token[column] for column in range(dim)) + bias[row]
            for row in range(start, start + width)
        ]

    value = []
    for head in range(attention.num_heads):
        query = projected(0, head, h[0])
        scores = [
            sum(a * b for a, b in zip(query, projected(1, head, token), strict=True)) / math.sqrt(width) for token in h
        ]
        total = sum(score.exp() for score in scores)
        values = [projected(2, head, token) for token in h]
        value += [
            sum(s.exp() / total * v[place] for s, v in zip(scores, values, strict=True)) for place in range(width)
        ]
    return attention.proj(torch.stack(value))


def test_the_attention_is_the_sum_written_out():
    attention, h = block().attn, tokens()
    found = class_attention(attention, h)
    for image in range(2):
        torch.testing.assert_close(found[image, 0], spelled_out(attention, h[image]), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("arguments", [{}, {"init_values": 0.3}, {"qkv_bias": False}, {"mlp_ratio": 2.0}])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_first_token_is_that_of_the_whole_block(arguments, count):
    whole = block(**arguments)
    x = tokens(count)
    torch.testing.assert_close(ClassTokenBlock(whole)(x), whole(x)[:, :1], atol=1e-11, rtol=1e-11)


def test_the_parameters_are_the_block_s_own_under_their_names():
    whole = block(init_values=0.3)
    folded = dict(ClassTokenBlock(whole).named_parameters())
    assert folded.keys() == dict(whole.named_parameters()).keys()
    assert all(folded[name] is parameter for name, parameter in whole.named_parameters())


def test_first_and_second_derivatives_agree_with_finite_differences():
    attention = block().attn
    h = tokens(3)[:1].requires_grad_()
    assert gradcheck(lambda h: class_attention(attention, h), (h,))
    assert gradgradcheck(lambda h: class_attention(attention, h), (h,))


def test_a_network_gives_the_same_feature_when_its_last_block_is_folded():
    network = timm.create_model("vit_small_patch16_224", **VIT).double().eval()
    images = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    expected = network(images)
    assert foldable(network)
    fold_last_block(network)
    torch.testing.assert_close(network(images), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        {"global_pool": "avg"},
        {"qk_norm": True},
        {"scale_attn_norm": True},
        {"attn_drop_rate": 0.1},
        {"drop_path_rate": 0.1},
        {"proj_drop_rate": 0.1},
    ],
)
def test_a_block_that_does_more_is_not_folded(arguments):
    assert not foldable(timm.create_model("vit_small_patch16_224", **VIT, **arguments))


def test_other_networks_are_not_folded():
    assert not foldable(timm.create_model("resnet18"))
    assert not foldable(nn.Linear(1, 1))
