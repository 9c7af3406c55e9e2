import copy

import pytest
import torch
from torch import nn

from metagcd.models import build_encoder
from metagcd.models import encoder as encoder_file
from metagcd.models.encoder import Trunk


def steps(encoder, images, count=3):
    optimiser = torch.optim.SGD([p for p in encoder.parameters() if p.requires_grad], lr=0.1, weight_decay=0.1)
    encoder.train()
    for _ in range(count):
        optimiser.zero_grad()
        encoder.embed(images).square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("trainable_from", [0, 1, 3])
def test_training_changes_the_tail_and_leaves_the_trunk_to_the_bit(trainable_from):
    encoder = build_encoder("tiny", trainable_from=trainable_from)
    images = torch.randn(4, 3, 16, 16)
    before, digest = copy.deepcopy(encoder.state_dict()), encoder.weights_digest
    steps(encoder, images)
    after = encoder.state_dict()
    assert encoder.weights_digest == digest
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]) == name.startswith("trunk."), name


def test_the_trunk_stays_in_evaluation_mode_without_gradient():
    encoder = build_encoder("tiny", trainable_from=2).train()
    assert not any(module.training for module in encoder.trunk.modules())
    assert encoder.tail.training
    assert not any(p.requires_grad for p in encoder.trunk.parameters())
    assert all(p.requires_grad for p in encoder.tail.parameters())
    assert not encoder.trunk(torch.randn(1, 3, 16, 16)).requires_grad


def test_embed_is_the_tail_after_the_trunk():
    encoder = build_encoder("tiny", trainable_from=2)
    images = torch.randn(3, 3, 16, 16)
    features = encoder.embed(images)
    assert features.shape == (3, encoder.dim)
    torch.testing.assert_close(features, encoder.tail(encoder.trunk(images)))
    torch.testing.assert_close(features, encoder(images))


def test_the_tail_reads_what_was_stored_in_sixteen_bits():
    encoder = build_encoder("tiny", trainable_from=2)
    stored = encoder.trunk(torch.randn(3, 3, 16, 16))
    torch.testing.assert_close(encoder.tail(stored.half()), encoder.tail(stored), atol=2e-2, rtol=2e-2)


def test_a_bfloat16_trunk_returns_the_type_of_its_input_close_to_float32():
    exact, quick = build_encoder("tiny", trainable_from=2), build_encoder("tiny", trainable_from=2)
    quick.trunk.dtype = "bfloat16"
    images = torch.randn(3, 3, 16, 16)
    stored = quick.trunk(images)
    assert stored.dtype == torch.float32
    assert not torch.equal(stored, exact.trunk(images))
    torch.testing.assert_close(stored, exact.trunk(images), atol=5e-2, rtol=5e-2)
    assert quick.weights_digest != exact.weights_digest


def test_the_digest_names_the_trunk_and_its_cut_but_not_the_tail():
    first, second = build_encoder("tiny", trainable_from=2), build_encoder("tiny", trainable_from=2)
    assert first.weights_digest == second.weights_digest
    steps(second, torch.randn(2, 3, 16, 16))
    assert first.weights_digest == second.weights_digest
    others = [
        build_encoder("tiny"),
        build_encoder("tiny", trainable_from=1),
        build_encoder("tiny", trainable_from=2, seed=1),
    ]
    assert len({encoder.weights_digest for encoder in [first, *others]}) == 4


def test_the_state_dict_makes_the_trip_there_and_back():
    encoder, other = build_encoder("tiny", trainable_from=1), build_encoder("tiny", trainable_from=1, seed=5)
    images = torch.randn(2, 3, 16, 16)
    assert not torch.allclose(encoder.embed(images), other.embed(images))
    other.load_state_dict(encoder.state_dict())
    assert torch.equal(encoder.embed(images), other.embed(images))


def test_the_cut_does_not_change_the_features_nor_the_names_of_the_network():
    images = torch.randn(2, 3, 16, 16)
    whole, *cut = [build_encoder("tiny", trainable_from=k) for k in range(4)]
    for encoder in cut:
        torch.testing.assert_close(encoder.embed(images), whole.embed(images))
        assert encoder.network_state().keys() == whole.network_state().keys()


def test_a_copy_of_the_encoder_is_independent():
    encoder = build_encoder("tiny")
    other = copy.deepcopy(encoder)
    images = torch.randn(2, 3, 16, 16)
    before = encoder.embed(images)
    steps(other, images)
    assert torch.equal(encoder.embed(images), before)
    assert isinstance(other.tail, nn.Module)


@pytest.mark.parametrize("views", [0, 1, 3, 4, 9])
def test_a_trunk_takes_few_views_at_a_time_with_the_same_outputs(monkeypatch, views):
    taken, images = [], torch.randn(views, 3, 4, 4)

    def read(model, x):
        taken.append(len(x))
        return model(x)

    monkeypatch.setattr(encoder_file, "PART", 3 * 3 * 4 * 4 + 1)
    trunk = Trunk(nn.Conv2d(3, 2, 3), read=read)
    torch.testing.assert_close(trunk(images), trunk.model(images))
    assert taken == ([min(3, views - start) for start in range(0, views, 3)] or [0])
    without = Trunk(nn.Identity(), read=read)
    assert without(images) is images
