"""Self-distillation written out in loops, what it does not depend on, and its derivative."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from metagcd.losses import self_distillation, teacher_temperature

USUAL = {"student_temperature": 0.1, "teacher_temperature": 0.04}


def logits(n: int, c: int = 3, seed: int = 0) -> Tensor:
    return torch.rand(2 * n, c, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def softmax(row: list[float], temperature: float) -> list[float]:
    terms = [math.exp(value / temperature) for value in row]
    return [term / sum(terms) for term in terms]


def written_out(rows: list[list[float]], student: float, teacher: float) -> float:
    n, total = len(rows) // 2, 0.0
    for i in range(2 * n):
        other = softmax(rows[(i + n) % (2 * n)], teacher)
        own = softmax(rows[i], student)
        total -= sum(q * math.log(p) for q, p in zip(other, own, strict=True))
    return total / (2 * n)


@pytest.mark.parametrize(("n", "c"), [(1, 2), (4, 3), (3, 1)])
def test_a_view_learns_what_is_predicted_for_the_other_view(n: int, c: int) -> None:
    x = logits(n, c)
    assert self_distillation(x, **USUAL).item() == pytest.approx(written_out(x.tolist(), 0.1, 0.04), rel=1e-12)


def test_the_teacher_is_held_constant() -> None:
    x = logits(3).requires_grad_()
    constant = x.detach().clone()

    def student_alone(student: Tensor) -> Tensor:
        target = (constant / 0.5).softmax(dim=1).roll(3, dims=0)
        return -(target * (student / 0.7).log_softmax(dim=1)).sum(dim=1).mean()

    assert gradcheck(student_alone, (x,))
    (expected,) = torch.autograd.grad(student_alone(x), x)
    (found,) = torch.autograd.grad(self_distillation(x, student_temperature=0.7, teacher_temperature=0.5), x)
    assert torch.allclose(found, expected, rtol=1e-12)


def test_the_order_of_images_views_and_classes_does_not_matter() -> None:
    x = logits(4)
    order, classes = torch.tensor([2, 0, 3, 1]), torch.tensor([1, 2, 0])
    first, second = x.chunk(2)
    loss = self_distillation(x, **USUAL)
    for other in (torch.cat([first[order], second[order]]), torch.cat([second, first]), x[:, classes]):
        assert torch.isclose(self_distillation(other, **USUAL), loss, rtol=1e-12)


def test_one_class_alone_costs_nothing() -> None:
    assert self_distillation(logits(3, 1), **USUAL) == 0


def test_a_sharper_teacher_pulls_a_view_to_its_likeliest_class() -> None:
    x = torch.tensor([[0.2, 0.0], [0.2, 0.0]], dtype=torch.float64, requires_grad=True)
    gradients = [
        torch.autograd.grad(self_distillation(x, student_temperature=0.1, teacher_temperature=t), x)[0]
        for t in (0.1, 0.05, 0.01)
    ]
    assert torch.allclose(gradients[0], torch.zeros_like(x), atol=1e-12)
    assert gradients[2][0, 0] < gradients[1][0, 0] < 0


def test_extreme_logits_stay_finite_in_float32() -> None:
    x = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], requires_grad=True)
    loss = self_distillation(x, student_temperature=1e-3, teacher_temperature=1e-3)
    (gradient,) = torch.autograd.grad(loss, x)
    assert loss.item() == pytest.approx(2000)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("rows", [0, 3])
def test_a_number_of_rows_that_cannot_be_two_views_is_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=f"even and positive; got {rows}"):
        self_distillation(torch.zeros(rows, 2), **USUAL)


@pytest.mark.parametrize("name", ["student_temperature", "teacher_temperature"])
def test_a_temperature_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` must be above 0"):
        self_distillation(logits(1), **{**USUAL, name: 0.0})


def test_the_teachers_temperature_moves_evenly_and_then_stays() -> None:
    found = [teacher_temperature(epoch, first=0.07, last=0.04, epochs=30) for epoch in range(35)]
    np.testing.assert_allclose(found, [*np.linspace(0.07, 0.04, 30), *[0.04] * 5], rtol=1e-12)


@pytest.mark.parametrize(("epochs", "expected"), [(0, [0.04, 0.04]), (1, [0.07, 0.04]), (2, [0.07, 0.04])])
def test_a_course_of_few_epochs_ends_at_the_last_temperature(epochs: int, expected: list[float]) -> None:
    assert [teacher_temperature(e, first=0.07, last=0.04, epochs=epochs) for e in range(2)] == pytest.approx(expected)
