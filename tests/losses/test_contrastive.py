"""Eqs. 1-3, written out in loops; symmetries, degenerate batches and derivatives."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from metagcd.losses import (
    info_nce,
    info_nce_from_similarity,
    labelled,
    labelled_from_similarity,
    supcon,
    supcon_from_similarity,
)

BOTH = {"unsupervised_temperature": 1.0, "supervised_temperature": 0.07}


def rows(n: int, d: int = 4, seed: int = 0) -> Tensor:
    z = torch.randn(2 * n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return z / z.norm(dim=1, keepdim=True)


def log_p(z: list[list[float]], i: int, j: int, temperature: float) -> float:
    def term(n: int) -> float:
        return math.exp(sum(a * b for a, b in zip(z[i], z[n], strict=True)) / temperature)

    return math.log(term(j) / sum(term(n) for n in range(len(z)) if n != i))


def eq_1(z: list[list[float]], temperature: float) -> float:
    n = len(z) // 2
    return sum(-log_p(z, i, (i + n) % (2 * n), temperature) for i in range(2 * n)) / (2 * n)


def eq_2(z: list[list[float]], labels: list[int], temperature: float) -> float:
    views, total = labels + labels, 0.0
    for i in range(len(z)):
        same = [q for q in range(len(z)) if q != i and views[q] == views[i]]
        total -= sum(log_p(z, i, q, temperature) for q in same) / len(same)
    return total / len(z)


@pytest.mark.parametrize("temperature", [0.07, 1.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_info_nce_is_equation_1(n: int, temperature: float) -> None:
    z = rows(n)
    assert info_nce(z, temperature=temperature).item() == pytest.approx(eq_1(z.tolist(), temperature), rel=1e-12)


@pytest.mark.parametrize("labels", [[0], [3, 3], [0, 1, 0, 2, 1], [7, 7, 7, 7]])
def test_supcon_is_equation_2(labels: list[int]) -> None:
    z = rows(len(labels))
    loss = supcon(z, torch.tensor(labels), temperature=0.07)
    assert loss.item() == pytest.approx(eq_2(z.tolist(), labels, 0.07), rel=1e-12)


@pytest.mark.parametrize("balance", [0.0, 0.35, 1.0])
def test_labelled_is_equation_3(balance: float) -> None:
    z, labels = rows(5), [0, 1, 0, 2, 1]
    expected = (1 - balance) * eq_1(z.tolist(), 1.0) + balance * eq_2(z.tolist(), labels, 0.07)
    assert labelled(z, torch.tensor(labels), balance=balance, **BOTH).item() == pytest.approx(expected, rel=1e-12)


def test_a_loss_of_the_rows_is_the_loss_of_their_similarity() -> None:
    z, labels = rows(4), torch.tensor([0, 1, 1, 0])
    assert info_nce(z, temperature=0.5) == info_nce_from_similarity(z @ z.T, temperature=0.5)
    assert supcon(z, labels, temperature=0.5) == supcon_from_similarity(z @ z.T, labels, temperature=0.5)
    assert labelled(z, labels, balance=0.35, **BOTH) == labelled_from_similarity(z @ z.T, labels, balance=0.35, **BOTH)


def test_with_every_image_its_own_class_supcon_is_info_nce() -> None:
    z = rows(6)
    assert torch.isclose(supcon(z, torch.arange(6), temperature=0.3), info_nce(z, temperature=0.3), rtol=1e-12)


def test_the_order_of_images_and_of_views_does_not_matter() -> None:
    z, labels = rows(5), torch.tensor([0, 1, 0, 2, 1])
    order = torch.tensor([3, 0, 4, 1, 2])
    first, second = z.chunk(2)
    loss = labelled(z, labels, balance=0.35, **BOTH)
    permuted = labelled(torch.cat([first[order], second[order]]), labels[order], balance=0.35, **BOTH)
    swapped = labelled(torch.cat([second, first]), labels, balance=0.35, **BOTH)
    assert torch.isclose(loss, permuted, rtol=1e-12)
    assert torch.isclose(loss, swapped, rtol=1e-12)


def test_renaming_the_classes_does_not_matter() -> None:
    z = rows(4)
    named = supcon(z, torch.tensor([0, 1, 0, 2]), temperature=0.1)
    assert named == supcon(z, torch.tensor([9, -4, 9, 5]), temperature=0.1)


def test_only_similarity_over_temperature_matters() -> None:
    z = rows(4)
    assert torch.isclose(info_nce(3 * z, temperature=0.9), info_nce(z, temperature=0.1), rtol=1e-12)


def test_equal_rows_cost_the_logarithm_of_the_choices() -> None:
    z = torch.ones(8, 1, dtype=torch.float64)
    assert info_nce(z, temperature=0.07).item() == pytest.approx(math.log(7), rel=1e-12)


def test_one_image_alone_costs_nothing() -> None:
    z = rows(1).requires_grad_()
    loss = labelled(z, torch.tensor([2]), balance=0.35, **BOTH)
    (gradient,) = torch.autograd.grad(loss, z)
    assert loss == 0
    assert torch.equal(gradient, torch.zeros_like(z))


@pytest.mark.parametrize("sign", [1, -1])
def test_extreme_similarity_stays_finite_in_float32(sign: int) -> None:
    z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [sign, 0.0], [0.0, sign]], requires_grad=True)
    loss = labelled(z, torch.tensor([0, 1]), balance=0.5, unsupervised_temperature=1e-4, supervised_temperature=1e-4)
    (gradient,) = torch.autograd.grad(loss, z)
    assert loss.isfinite()
    assert gradient.isfinite().all()
    assert loss.item() == pytest.approx(0.0 if sign > 0 else 1e4 + math.log(2), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_loss_has_the_dtype_of_the_rows(dtype: torch.dtype) -> None:
    loss = labelled(rows(3).to(dtype), torch.tensor([0, 1, 0]), balance=0.35, **BOTH)
    assert loss.dtype == dtype


def test_first_and_second_derivatives_agree_with_finite_differences() -> None:
    z = rows(3, d=3).requires_grad_()
    labels = torch.tensor([0, 1, 0])

    def loss(z: Tensor) -> Tensor:
        return labelled(z, labels, balance=0.35, unsupervised_temperature=1.0, supervised_temperature=0.3)

    assert gradcheck(loss, (z,))
    assert gradgradcheck(loss, (z,))


@pytest.mark.parametrize("views", [0, 3])
def test_a_number_of_rows_that_cannot_be_two_views_is_refused(views: int) -> None:
    with pytest.raises(ValueError, match=f"even and positive; got {views} rows"):
        info_nce(torch.zeros(views, 2), temperature=1.0)


def test_a_wrong_number_of_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="2 labels belong to 4 views; got 6 rows"):
        supcon(rows(3), torch.tensor([0, 1]), temperature=1.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_must_be_positive(temperature: float) -> None:
    with pytest.raises(ValueError, match="`temperature` must be above 0"):
        info_nce(rows(2), temperature=temperature)


@pytest.mark.parametrize("balance", [-0.1, 1.1])
def test_a_balance_must_be_a_share(balance: float) -> None:
    with pytest.raises(ValueError, match=r"`balance` must be in \[0, 1\]"):
        labelled(rows(2), torch.tensor([0, 1]), balance=balance, **BOTH)
