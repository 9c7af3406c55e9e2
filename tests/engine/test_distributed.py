import numpy as np
import pytest
import torch
from engine import two_processes

from metagcd.engine.distributed import ALONE, Ranks, average, launched, ranks_of, through
from metagcd.engine.runtime import processor
from metagcd.errors import InputError


@pytest.fixture(scope="module")
def one():
    return two_processes.results(processor())


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return two_processes.results_of_two(tmp_path_factory.mktemp("two"))


@pytest.mark.parametrize("loop", two_processes.LOOPS)
def test_two_processes_with_half_a_batch_each_have_the_meta_gradient_of_one(one, two, loop):
    for found in two:
        torch.testing.assert_close(found[loop], one[loop], rtol=1e-10, atol=1e-12)


def test_the_second_order_that_is_compared_is_not_the_first(one):
    assert (one["second"] - one["first"]).abs().max() > 1e-3
    assert (one["recomputed"] - one["second"]).abs().max() > 1e-3


def test_two_processes_with_half_a_batch_each_train_to_the_weights_of_one(one, two):
    for found in two:
        torch.testing.assert_close(found["trained"], one["trained"], rtol=1e-10, atol=1e-12)


def test_two_processes_have_the_same_weights_to_the_bit(two):
    assert torch.equal(two[0]["trained"], two[1]["trained"])


def test_processes_embed_a_part_each_and_have_the_features_of_all_images(one, two):
    assert torch.equal(two[0]["embedded"], two[1]["embedded"])
    torch.testing.assert_close(two[0]["embedded"], one["embedded"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 5, 7, 128])
def test_shares_are_disjoint_in_order_and_differ_by_at_most_one(n, count):
    shares = [np.arange(n)[Ranks(count, own).part(n)] for own in range(count)]
    assert np.concatenate(shares).tolist() == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_batch_of_fewer_images_than_processes_is_refused():
    Ranks(3, 0).require_share(3)
    ALONE.require_share(0)
    with pytest.raises(InputError, match="A batch of 2 images cannot be shared by 3 processes"):
        Ranks(3, 0).require_share(2)


def test_batch_normalisation_that_sees_a_part_of_a_batch_is_refused():
    tail = torch.nn.BatchNorm1d(3)
    with pytest.raises(InputError, match="batch normalisation"):
        through(tail, torch.zeros(4, 3), images=4, ranks=Ranks(2, 0))


def test_a_process_by_itself_is_the_first_and_changes_nothing():
    assert ranks_of(processor()) == ranks_of(launched("cpu")) == ALONE
    assert [Ranks(2, own).first for own in range(2)] == [True, False]
    tensor = torch.ones(3)
    average([tensor], ALONE)
    assert torch.equal(tensor, torch.ones(3))
