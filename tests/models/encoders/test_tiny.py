import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from metagcd.config import from_toml, to_toml
from metagcd.errors import InputError
from metagcd.models import encoder_of
from metagcd.models.encoders.tiny import Block, Patches, TinyConfig
from metagcd.seeds import Seeds


def test_equal_seeds_give_equal_weights_and_leave_the_global_state():
    state = torch.random.get_rng_state()
    first, second, other = (encoder_of(TinyConfig(), Seeds(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert first.weights == second.weights
    assert first.weights.tensors != other.weights.tensors


def test_the_trunk_of_a_fully_trained_network_has_no_parameters():
    encoder = encoder_of(TinyConfig(), Seeds(0))
    assert not list(encoder.trunk.parameters())
    assert encoder.trunk(torch.randn(2, 3, 16, 16)).shape == (2, 16, 48)


def test_patches_are_cut_row_by_row():
    image = torch.arange(16.0).view(1, 1, 4, 4)
    assert Patches(2)(image).tolist() == [[[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]]


def test_a_block_that_returns_the_first_token_alone_agrees_with_the_whole_block():
    whole = Block(12, 3).double()
    first = Block(12, 3, first_only=True).double()
    first.load_state_dict(whole.state_dict())
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    torch.testing.assert_close(first(x), whole(x)[:, :1], atol=1e-12, rtol=1e-12)


def test_the_order_of_the_other_tokens_does_not_matter_to_the_first():
    block = Block(12, 3, first_only=True).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    torch.testing.assert_close(block(x[:, [0, 3, 1, 4, 2]]), block(x), atol=1e-12, rtol=1e-12)


def test_the_tail_can_be_differentiated_twice_on_the_math_path():
    encoder = encoder_of(TinyConfig(width=8, depth=2, heads=2), Seeds(0)).double()
    stored = encoder.trunk(torch.randn(2, 3, 16, 16, dtype=torch.float64))
    parameters = tuple(encoder.tail.parameters())
    with sdpa_kernel(SDPBackend.MATH):
        first = torch.autograd.grad(encoder.tail(stored).pow(3).sum(), parameters, create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), parameters)
    assert all(torch.isfinite(g).all() for g in second)
    assert any(g.abs().sum() > 0 for g in second)


def test_the_config_survives_toml():
    config = TinyConfig(width=32, trainable_from=1)
    assert from_toml(TinyConfig(), to_toml(config)) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patch": 5}, "multiple of `patch`"),
        ({"heads": 5}, "multiple of `heads`"),
        ({"trainable_from": 4}, r"\[0, 3\]"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        TinyConfig(**changes)
