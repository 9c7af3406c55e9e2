"""The entropies of the mean prediction, written out in loops; empty and single classes; derivatives."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from metagcd.losses import group_entropy, mean_entropy


def logits(m: int = 5, c: int = 4, seed: int = 0) -> Tensor:
    return torch.rand(m, c, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def mean_prediction(rows: list[list[float]], temperature: float) -> list[float]:
    total = [0.0] * len(rows[0])
    for row in rows:
        terms = [math.exp(value / temperature) for value in row]
        total = [sofar + term / sum(terms) / len(rows) for sofar, term in zip(total, terms, strict=True)]
    return total


def lacking(p: list[float]) -> float:
    return math.log(len(p)) + sum(share / sum(p) * math.log(share / sum(p)) for share in p)


@pytest.mark.parametrize("c", [1, 2, 6])
def test_it_is_what_the_entropy_of_the_mean_prediction_lacks(c: int) -> None:
    x = logits(c=c)
    assert mean_entropy(x, temperature=0.1).item() == pytest.approx(
        lacking(mean_prediction(x.tolist(), 0.1)), rel=1e-10, abs=1e-14
    )


@pytest.mark.parametrize("old", [1, 2, 3])
def test_groups_are_old_against_new_and_each_within_itself(old: int) -> None:
    x = logits()
    p = mean_prediction(x.tolist(), 0.1)
    found = group_entropy(x, old, temperature=0.1)
    assert found.between.item() == pytest.approx(lacking([sum(p[:old]), sum(p[old:])]), rel=1e-10)
    assert found.old.item() == pytest.approx(lacking(p[:old]), rel=1e-10, abs=1e-14)
    assert found.new.item() == pytest.approx(lacking(p[old:]), rel=1e-10, abs=1e-14)


def test_without_a_new_class_only_the_old_ones_are_compared() -> None:
    found = group_entropy(logits(), 4, temperature=0.1)
    assert (found.between, found.new) == (0, 0)
    assert torch.equal(found.old, mean_entropy(logits(), temperature=0.1))


def test_without_an_old_class_only_the_new_ones_are_compared() -> None:
    found = group_entropy(logits(), 0, temperature=0.1)
    assert (found.between, found.old) == (0, 0)
    assert torch.equal(found.new, mean_entropy(logits(), temperature=0.1))


def test_one_new_class_has_nothing_within_itself_but_must_be_predicted() -> None:
    x = torch.tensor([[1.0, 1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    found = group_entropy(x, 2, temperature=0.1)
    assert found.new.item() == pytest.approx(0, abs=1e-14)
    (gradient,) = torch.autograd.grad(found.between, x)
    assert gradient[0, 2] < 0 < gradient[0, 0]


def test_entropies_lack_nothing_where_shares_are_equal() -> None:
    x = torch.eye(4, dtype=torch.float64)
    assert mean_entropy(x, temperature=0.1).item() == pytest.approx(0, abs=1e-14)
    assert sum(group_entropy(x, 2, temperature=0.1)).item() == pytest.approx(0, abs=1e-14)


def test_all_in_one_class_lacks_everything() -> None:
    x = torch.eye(4, dtype=torch.float64)[[0, 0, 0]]
    assert mean_entropy(x, temperature=1e-3).item() == pytest.approx(math.log(4))
    found = group_entropy(x, 2, temperature=1e-3)
    assert found.between.item() == pytest.approx(math.log(2))


def test_the_order_of_rows_and_of_classes_within_a_group_does_not_matter() -> None:
    x = logits()
    other = x[[4, 1, 0, 2, 3]][:, [1, 0, 3, 2]]
    for one, same in zip(group_entropy(x, 2, temperature=0.1), group_entropy(other, 2, temperature=0.1), strict=True):
        assert torch.isclose(one, same, rtol=1e-12)


def test_the_derivatives_agree_with_finite_differences() -> None:
    x = logits().requires_grad_()
    assert gradcheck(lambda x: mean_entropy(x, temperature=0.3), (x,))
    assert gradcheck(lambda x: tuple(group_entropy(x, 3, temperature=0.3)), (x,))


def test_a_class_without_probability_has_a_finite_gradient_in_float32() -> None:
    x = torch.tensor([[1.0, -1.0, -1.0]], requires_grad=True)
    loss = mean_entropy(x, temperature=1e-3) + sum(group_entropy(x, 1, temperature=1e-3))
    (gradient,) = torch.autograd.grad(loss, x)
    assert loss.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nothing_has_no_mean_prediction(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="needs rows and classes"):
        mean_entropy(torch.zeros(shape), temperature=0.1)


@pytest.mark.parametrize("old", [-1, 5])
def test_more_old_classes_than_there_are_are_refused(old: int) -> None:
    with pytest.raises(ValueError, match=r"`old` must be in \[0, 4\]"):
        group_entropy(logits(), old, temperature=0.1)


def test_a_temperature_must_be_positive() -> None:
    with pytest.raises(ValueError, match="`temperature` must be above 0"):
        mean_entropy(logits(), temperature=0.0)
