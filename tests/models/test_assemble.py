import copy

import pytest
import timm
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from metagcd.models.assemble import Options, assemble
from metagcd.models.cut import stages_of
from metagcd.models.encoder import WeightsRecord
from metagcd.types import InputSpec

VIT = {"depth": 3, "embed_dim": 24, "num_heads": 3}
FOLDED = {
    "dino": ("vit_small_patch16_224.dino", {"img_size": 32, **VIT}),
    "dinov2": ("vit_small_patch14_dinov2.lvd142m", {"img_size": 28, **VIT}),
    "dinov2 with registers": ("vit_small_patch14_reg4_dinov2.lvd142m", {"img_size": 28, **VIT}),
    "supervised": ("vit_base_patch16_224.augreg_in21k", {"img_size": 32, **VIT}),
    "clip": ("vit_base_patch16_clip_224.openai", {"img_size": 32, **VIT}),
    "clip of openai": ("vit_base_patch16_clip_quickgelu_224.openai", {"img_size": 32, **VIT}),
    "without biases": ("vit_small_patch16_224", {"img_size": 32, "qkv_bias": False, "proj_bias": False, **VIT}),
}
GENERAL = {
    "dinov3": ("vit_small_patch16_dinov3.lvd1689m", {"img_size": 32, **VIT}),
    "dinov3 plus": ("vit_small_plus_patch16_dinov3.lvd1689m", {"img_size": 32, **VIT}),
    "eva02": ("eva02_tiny_patch14_224", {"img_size": 28, **VIT}),
    "learned rotation": ("vit_small_patch16_rope_mixed_224", {"img_size": 32, **VIT}),
    "mean of tokens": ("vit_small_patch16_224", {"img_size": 32, "global_pool": "avg", **VIT}),
    "normalised keys": ("vit_small_patch16_224", {"img_size": 32, "qk_norm": True, **VIT}),
    "siglip": ("vit_base_patch16_siglip_224", {"img_size": 32, **VIT}),
    "resnet": ("resnet50", {"layers": (1, 1, 1, 1), "channels": (8, 8, 16, 16)}),
    "efficientnet lite": ("tf_efficientnet_lite1", {}),
    "mobilenetv2": ("mobilenetv2_050", {}),
    "mobilenetv3": ("mobilenetv3_small_050", {}),
    "convnext": ("convnext_atto", {"depths": (1, 1, 2, 1), "dims": (8, 8, 16, 16)}),
}
ALL = {**FOLDED, **GENERAL}
CASES = [(kind, first) for kind in ALL for first in (0, 1, None)]


def network(kind, dtype=torch.float64):
    """A small network of the family with every tensor away from its special initial value."""
    name, arguments = ALL[kind]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = timm.create_model(name, num_classes=0, **arguments)
        for key, tensor in model.state_dict().items():
            if key.endswith("running_var"):
                tensor.uniform_(0.5, 2)
            elif tensor.is_floating_point():
                tensor.add_(0.1 * torch.randn_like(tensor))
    return model.to(dtype).eval()


def encoder_of(model, **options):
    record = WeightsRecord(architecture="test", source="random", tensors="")
    return assemble(copy.deepcopy(model), Options(**options), spec=InputSpec(size=32), weights=record)


def images_for(kind, dtype=torch.float64, count=2):
    side = ALL[kind][1].get("img_size", 32)
    return torch.randn(count, 3, side, side, dtype=dtype, generator=torch.Generator().manual_seed(1))


def timm_feature(model, images):
    return model.forward_head(model.forward_features(images), pre_logits=True)


def scalar(features):
    return (features * torch.linspace(-1, 2, features.shape[1], dtype=features.dtype)).sin().sum()


@pytest.mark.parametrize(("kind", "first"), CASES)
def test_features_and_gradients_are_those_of_timm(kind, first):
    model, images = network(kind), images_for(kind)
    encoder = encoder_of(model, trainable_from=first).train()
    expected = timm_feature(model, images)
    features = encoder.embed(images)
    assert features.shape == (2, encoder.dim)
    torch.testing.assert_close(features, expected, atol=1e-10, rtol=1e-10)
    scalar(expected).backward()
    scalar(features).backward()
    reference = dict(model.named_parameters())
    trained = dict(encoder.tail.model.named_parameters())
    assert trained
    for name, parameter in trained.items():
        if parameter.requires_grad:
            wanted = reference[name].grad
            scale = max(1.0, float(wanted.abs().max()))
            torch.testing.assert_close(parameter.grad, wanted, atol=1e-10 * scale, rtol=1e-8, msg=name)


@pytest.mark.parametrize("kind", ALL)
def test_features_in_single_precision_are_as_exact_as_those_of_timm(kind):
    model, images = network(kind, torch.float32), images_for(kind, torch.float32)
    with torch.no_grad():
        exact = timm_feature(network(kind), images.double())
        theirs = (timm_feature(model, images) - exact).norm()
        ours = (encoder_of(model).embed(images) - exact).norm()
    assert ours <= 4 * theirs + 1e-6 * exact.norm()


@pytest.mark.parametrize(("kind", "first"), [(kind, first) for kind in ALL for first in (1, None)])
def test_the_two_parts_hold_every_tensor_once_under_its_own_name(kind, first):
    model = network(kind)
    encoder = encoder_of(model, trainable_from=first)
    before, after = encoder.trunk.model.state_dict(), encoder.tail.model.state_dict()
    assert before.keys().isdisjoint(after.keys())
    state = model.state_dict()
    assert encoder.network_state().keys() == state.keys()
    assert all(torch.equal(tensor, state[name]) for name, tensor in encoder.network_state().items())


@pytest.mark.parametrize("kind", ALL)
def test_training_leaves_the_trunk_and_the_stored_tokens_to_the_bit(kind):
    encoder = encoder_of(network(kind, torch.float32)).train()
    images = images_for(kind, torch.float32)
    before = copy.deepcopy(encoder.trunk.state_dict())
    statistics = {name: b.clone() for name, b in encoder.tail.named_buffers()}
    stored = encoder.trunk(images)
    kept = stored.clone()
    optimiser = torch.optim.SGD(encoder.tail.parameters(), lr=1e-3, weight_decay=0.1)
    for _ in range(2):
        optimiser.zero_grad()
        scalar(encoder.tail(stored)).backward()
        optimiser.step()
    assert torch.equal(stored, kept)
    assert all(torch.equal(tensor, before[name]) for name, tensor in encoder.trunk.state_dict().items())
    assert all(torch.equal(b, statistics[name]) for name, b in encoder.tail.named_buffers())
    assert torch.equal(encoder.trunk(images), kept)


@pytest.mark.parametrize("kind", FOLDED)
def test_the_folded_tail_has_the_second_derivatives_of_the_whole_block(kind):
    model, images = network(kind), images_for(kind)
    answers = []
    for fold in (True, False):
        tail_of = encoder_of(model, fold=fold)
        parameters = dict(tail_of.tail.named_parameters())
        with sdpa_kernel(SDPBackend.MATH):
            loss = scalar(tail_of.embed(images))
            first = torch.autograd.grad(loss, list(parameters.values()), create_graph=True)
            total = sum(g.pow(2).sum() for g in first)
            second = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
        answers.append(dict(zip(parameters, second, strict=True)))
    folded, whole = answers
    assert folded.keys() == whole.keys()
    for name, expected in whole.items():
        found = torch.zeros_like(expected) if folded[name] is None else folded[name]
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-7, msg=name)


def test_only_the_class_token_leaves_a_folded_block():
    encoder = encoder_of(network("dino"))
    assert encoder.tail.model.forward_features(encoder.trunk(images_for("dino"))).shape == (2, 1, 24)
    whole = encoder_of(network("dino"), fold=False)
    assert whole.tail.model.forward_features(whole.trunk(images_for("dino"))).shape == (2, 5, 24)


@pytest.mark.parametrize("kind", GENERAL)
def test_what_is_not_a_plain_class_token_network_is_left_as_timm_runs_it(kind):
    model = network(kind, torch.float32)
    folded, plain = encoder_of(model), encoder_of(model, fold=False)
    assert [type(m) for m in folded.modules()] == [type(m) for m in plain.modules()]


def test_statistics_follow_the_batches_only_when_asked():
    images = images_for("resnet", torch.float32)
    frozen, moving = (
        encoder_of(network("resnet", torch.float32), update_statistics=update).train() for update in (False, True)
    )
    for encoder, moved in ((frozen, False), (moving, True)):
        before = {name: b.clone() for name, b in encoder.tail.named_buffers() if name.endswith("running_mean")}
        encoder.embed(images)
        after = dict(encoder.tail.named_buffers())
        assert before
        assert all(torch.equal(b, after[name]) != moved for name, b in before.items())


def kernels(encoder):
    return [tensor for tensor in encoder.network_state().values() if tensor.ndim == 4 and tensor.shape[2:] != (1, 1)]


@pytest.mark.parametrize("kind", ["resnet", "efficientnet lite", "mobilenetv2", "mobilenetv3", "convnext"])
def test_a_convolutional_network_computes_with_its_channels_last(kind):
    encoder = encoder_of(network(kind, torch.float32))
    assert kernels(encoder)
    assert all(kernel.is_contiguous(memory_format=torch.channels_last) for kernel in kernels(encoder))
    stored = encoder.trunk(torch.randn(2, 3, 64, 64))
    assert stored.is_contiguous(memory_format=torch.channels_last)


def test_a_vision_transformer_computes_with_tensors_as_they_come():
    (patches,) = kernels(encoder_of(network("dino", torch.float32)))
    assert patches.is_contiguous()


def test_the_last_block_or_stage_trains_by_default():
    for kind, expected in (
        ("dino", {"blocks", "norm"}),
        ("resnet", {"layer4"}),
        ("mobilenetv3", {"blocks", "conv_head"}),
    ):
        encoder = encoder_of(network(kind, torch.float32))
        names = [name for name, _ in encoder.tail.model.named_parameters()]
        assert {name.partition(".")[0] for name in names} == expected
        assert {name.split(".")[1] for name in names if name.startswith("blocks.")} <= {
            stages_of(network(kind, torch.float32))[-1].rpartition(".")[2]
        }


def test_a_bfloat16_trunk_is_close_for_every_cut():
    model, images = network("dino", torch.float32), images_for("dino", torch.float32)
    exact, quick = encoder_of(model), encoder_of(model, trunk_dtype="bfloat16")
    stored = quick.trunk(images)
    assert stored.dtype == torch.float32
    assert 0 < (stored - exact.trunk(images)).abs().max() < 0.05 * exact.trunk(images).abs().max()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "vit_small_patch8_224.dino",
        "vit_base_patch16_224.dino",
        "vit_small_patch14_dinov2.lvd142m",
        "vit_small_patch14_reg4_dinov2.lvd142m",
        "vit_small_patch16_dinov3",
        "vit_base_patch16_clip_224.openai",
        "resnet50",
        "tf_efficientnet_lite0",
        "tf_efficientnet_lite1",
        "tf_efficientnet_lite2",
        "mobilenetv2_100",
        "mobilenetv3_large_100",
    ],
)
def test_the_real_sizes_agree_with_timm(name):
    model = timm.create_model(name, num_classes=0, **({"img_size": 224} if name.startswith("vit") else {})).eval()
    images = torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        expected = timm_feature(model, images)
        torch.testing.assert_close(encoder_of(model).embed(images), expected, atol=1e-4, rtol=1e-4)
