import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from metagcd.seeds import Seeds

names = st.lists(st.text(alphabet="abc1", min_size=1, max_size=4) | st.integers(0, 50), max_size=3)


@given(st.integers(0, 2**31), names)
def test_the_same_root_and_names_give_the_same_seed_of_63_bits(root, path):
    assert Seeds(root).integer(*path) == Seeds(root).integer(*path)
    assert 0 <= Seeds(root).integer(*path) < 2**63


def test_seeds_stay_the_same_from_version_to_version():
    """BLAKE2b of "0/views" and of "7/session/1", first 8 bytes, big-endian, halved; worked out with `b2sum -l 64`."""
    assert Seeds(0).integer("views") == int("eb1a7e053a8b54c3", 16) >> 1
    assert Seeds(7).integer("session", 1) == int("439a7b0c42915045", 16) >> 1


def test_every_purpose_and_every_root_has_numbers_of_its_own():
    found = {Seeds(root).integer(name, place) for root in range(10) for name in ("a", "b") for place in range(10)}
    assert len(found) == 200


def test_what_was_drawn_before_changes_nothing():
    seeds = Seeds(1)
    expected = seeds.numpy("images").random(3)
    seeds.numpy("other").random(100)
    seeds.torch("images").seed()
    np.testing.assert_array_equal(seeds.numpy("images").random(3), expected)


def test_a_child_differs_from_its_parent_and_its_siblings():
    parent = Seeds(3)
    found = {seeds.integer("x") for seeds in (parent, parent.child("a"), parent.child("b"), parent.child("a", 0))}
    assert len(found) == 4
    assert parent.child("a") == Seeds(3).child("a")


def test_torch_and_numpy_generators_leave_the_global_state():
    before, numpy_before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002 - what must not be touched
    one, two = (torch.rand(3, generator=Seeds(2).torch("x")) for _ in range(2))
    Seeds(2).numpy("x").random(3)
    assert torch.equal(one, two)
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_equal(np.random.get_state(), numpy_before)  # noqa: NPY002 - what must not be touched


def test_a_scope_draws_weights_from_its_purpose_and_puts_the_global_state_back():
    def drawn(seed):
        with Seeds(seed).torch_scope("head"):
            return torch.nn.Linear(4, 4).weight.detach().clone()

    before = torch.get_rng_state()
    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_global_state_is_put_back_when_a_scope_fails():
    before = torch.get_rng_state()
    try:
        with Seeds(1).torch_scope("head"):
            torch.rand(1)
            raise KeyError
    except KeyError:
        pass
    assert torch.equal(torch.get_rng_state(), before)
