"""Eqs. 4-6, written out in loops; every option, empty neighbourhoods and derivatives."""

import inspect
import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import grad, gradcheck, gradgradcheck

from metagcd.losses import Positiveness, info_nce, neighbours, soft_neighbour, soft_neighbour_from_similarity, supcon
from metagcd.losses.neighbour import SOFT, log_positiveness

DETACHED = Positiveness(detach=True)


def rows(n: int, d: int = 3, seed: int = 0) -> Tensor:
    """Return rows close enough for neighbours, far enough for some views to have none at 0.85."""
    z = torch.randn(2 * n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    z[:, 0] += 1
    return z / z.norm(dim=1, keepdim=True)


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def positive_weights(scores: list[float], temperature: float) -> list[float]:
    """Return Eq. 6 as it stands: a softmax, then divided by its largest value."""
    total = sum(math.exp(score / temperature) for score in scores)
    softmax = [math.exp(score / temperature) / total for score in scores]
    return [share / max(softmax) for share in softmax]


def eqs_4_to_6(
    s: list[list[float]],
    scores: list[list[float]],
    threshold: float,
    inside: bool,
    sibling: bool,
    softness: float | None,
) -> float:
    m, total = len(s), 0.0
    for i in range(m):
        chosen = [j for j in range(m) if j != i and (s[i][j] >= threshold or (sibling and j == (i + m // 2) % m))]
        w = [1.0] * len(chosen) if softness is None else positive_weights([scores[i][j] for j in chosen], softness)
        for j, weight in zip(chosen, w, strict=True):
            p = math.exp(s[i][j] / 0.07) / sum(math.exp(s[i][n] / 0.07) for n in range(m) if n != i)
            total -= (math.log(weight * p) if inside else weight * math.log(p)) / len(chosen)
    return total / m


@pytest.mark.parametrize(
    ("weighting", "sibling", "softness", "threshold"),
    list(product(["outside", "inside"], [True, False], [None, 0.1, 1.0], [-1.0, 0.5, 0.85, 1.0])),
)
def test_soft_neighbour_is_equations_4_to_6(
    weighting: str, sibling: bool, softness: float | None, threshold: float
) -> None:
    z = rows(4)
    s = [[dot(a, b) for b in z.tolist()] for a in z.tolist()]
    loss = soft_neighbour(
        z,
        threshold=threshold,
        temperature=0.07,
        weighting=weighting,  # type: ignore[arg-type]
        include_sibling=sibling,
        positiveness=Positiveness(weights="hard") if softness is None else Positiveness(temperature=softness),
    )
    expected = eqs_4_to_6(s, s, threshold, weighting == "inside", sibling, softness)
    assert loss.item() == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_learned_scores_take_the_place_of_the_similarity_in_equation_6() -> None:
    z = rows(4)
    scores = torch.randn(8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    loss = soft_neighbour(z, threshold=0.5, temperature=0.07, positiveness=Positiveness(scores=scores))
    s = [[dot(a, b) for b in z.tolist()] for a in z.tolist()]
    assert loss.item() == pytest.approx(eqs_4_to_6(s, scores.tolist(), 0.5, False, True, 1.0), rel=1e-11)


def test_the_loss_of_the_rows_is_the_loss_of_their_similarity() -> None:
    z = rows(4)
    of_similarity = soft_neighbour_from_similarity(z @ z.T, threshold=0.5, temperature=0.07)
    assert soft_neighbour(z, threshold=0.5, temperature=0.07) == of_similarity


def test_with_no_neighbour_but_the_sibling_it_is_info_nce() -> None:
    z = torch.eye(6, dtype=torch.float64)
    expected = info_nce(z, temperature=0.3)
    for weighting in ("outside", "inside"):
        loss = soft_neighbour(z, threshold=0.5, temperature=0.3, weighting=weighting)
        assert torch.isclose(loss, expected, rtol=1e-12)


@pytest.mark.parametrize("weighting", ["outside", "inside"])
def test_views_without_neighbours_contribute_nothing_and_have_finite_derivatives(weighting: str) -> None:
    z = torch.eye(4, dtype=torch.float64, requires_grad=True)
    options = {"threshold": 0.85, "temperature": 0.07, "weighting": weighting, "include_sibling": False}
    loss = soft_neighbour(z, **options)
    (gradient,) = grad(loss, z, create_graph=True)
    (second,) = grad(gradient.sum(), z)
    assert loss == 0
    assert torch.equal(gradient, torch.zeros_like(z))
    assert torch.equal(second, torch.zeros_like(z))


def test_one_empty_row_among_others_adds_zero_to_the_mean() -> None:
    z = torch.tensor([[1, 0], [1, 0], [1, 0], [-1, 0]], dtype=torch.float64, requires_grad=True)
    loss = soft_neighbour(z, threshold=0.85, temperature=0.5, include_sibling=False)
    each = -math.log(math.exp(2) / (2 * math.exp(2) + math.exp(-2)))
    assert loss.item() == pytest.approx(3 * each / 4, rel=1e-12)
    assert grad(loss, z)[0].isfinite().all()


def test_at_the_lowest_threshold_all_others_are_neighbours_and_at_the_highest_only_equal_ones() -> None:
    z = torch.tensor([[1, 0], [0, 1], [1, 0], [-1, 0]], dtype=torch.float64)
    assert torch.equal(neighbours(z @ z.T, threshold=-1.0), ~torch.eye(4, dtype=torch.bool))
    equal = neighbours(z @ z.T, threshold=1.0, include_sibling=False)
    assert equal.nonzero().tolist() == [[0, 2], [2, 0]]
    assert neighbours(z @ z.T, threshold=1.0).nonzero().tolist() == [[0, 2], [1, 3], [2, 0], [3, 1]]


@given(st.integers(0, 1000), st.floats(0.3, 0.95))
def test_the_largest_weight_is_one_and_none_is_below_what_the_threshold_allows(seed: int, threshold: float) -> None:
    z = rows(6, seed=seed)
    chosen = neighbours(z @ z.T, threshold=threshold, include_sibling=False)
    w = log_positiveness(z @ z.T, chosen).exp()
    some = chosen.any(dim=1)
    assert torch.equal(w.masked_fill(~chosen, 0).amax(dim=1), some.double())
    assert (w[chosen] >= math.exp(threshold - 1) * (1 - 1e-12)).all()


def test_a_lower_softness_temperature_spreads_the_weights() -> None:
    z = rows(4)
    s = z @ z.T
    chosen = neighbours(s, threshold=0.0)
    paper = log_positiveness(s, chosen)
    assert torch.allclose(log_positiveness(s, chosen, Positiveness(temperature=0.1)), 10 * paper)


def test_the_order_of_images_and_of_views_does_not_matter() -> None:
    z, order = rows(5), torch.tensor([3, 0, 4, 1, 2])
    first, second = z.chunk(2)
    loss = soft_neighbour(z, threshold=0.5, temperature=0.07)
    for other in (torch.cat([first[order], second[order]]), torch.cat([second, first])):
        assert torch.isclose(soft_neighbour(other, threshold=0.5, temperature=0.07), loss, rtol=1e-12)


def test_inside_with_constant_weights_has_the_gradient_of_hard_weights_and_outside_has_not() -> None:
    z = rows(4).requires_grad_()
    common = {"threshold": 0.5, "temperature": 0.07}
    (hard,) = grad(soft_neighbour(z, **common, positiveness=Positiveness(weights="hard")), z)
    (inside,) = grad(soft_neighbour(z, **common, weighting="inside", positiveness=DETACHED), z)
    (outside,) = grad(soft_neighbour(z, **common, positiveness=DETACHED), z)
    assert torch.allclose(inside, hard, rtol=1e-12, atol=1e-14)
    assert not torch.allclose(outside, hard, rtol=1e-3)


def test_weights_carry_gradient_unless_detached() -> None:
    z = rows(4).requires_grad_()
    (flowing,) = grad(soft_neighbour(z, threshold=0.5, temperature=0.07), z)
    (constant,) = grad(soft_neighbour(z, threshold=0.5, temperature=0.07, positiveness=DETACHED), z)
    assert not torch.allclose(flowing, constant, rtol=1e-3)


@pytest.mark.parametrize("weighting", ["outside", "inside"])
@pytest.mark.parametrize("sibling", [True, False])
def test_first_and_second_derivatives_agree_with_finite_differences(weighting: str, sibling: bool) -> None:
    z = rows(3, seed=1).requires_grad_()
    near = neighbours(z @ z.T, threshold=0.3, include_sibling=sibling)
    assert near.sum(dim=1).max() > 1

    def loss(z: Tensor) -> Tensor:
        options = {"threshold": 0.3, "weighting": weighting, "include_sibling": sibling}
        return soft_neighbour(z, temperature=0.5, **options)

    assert gradcheck(loss, (z,))
    assert gradgradcheck(loss, (z,))


def test_detached_weights_break_the_derivative_of_the_loss() -> None:
    z = rows(3, seed=1).requires_grad_()

    def loss(z: Tensor) -> Tensor:
        return soft_neighbour(z, threshold=0.3, temperature=0.5, positiveness=DETACHED)

    assert not gradcheck(loss, (z,), raise_exception=False)


@pytest.mark.parametrize(("positiveness", "right"), [(SOFT, True), (DETACHED, False)])
def test_a_gradient_through_an_inner_update_is_right_unless_weights_are_detached(
    positiveness: Positiveness, right: bool
) -> None:
    x, unseen = rows(4, d=4, seed=2), rows(3, d=4, seed=3)
    start = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()

    def views(x: Tensor, theta: Tensor) -> Tensor:
        return torch.nn.functional.normalize(x @ theta, dim=1)

    def inner(theta: Tensor) -> Tensor:
        return soft_neighbour(views(x, theta), threshold=0.3, temperature=0.5, positiveness=positiveness)

    def outer_after_true_step(theta: Tensor) -> Tensor:
        (slope,) = grad(soft_neighbour(views(x, theta), threshold=0.3, temperature=0.5), theta, create_graph=True)
        return supcon(views(unseen, theta - 0.5 * slope), torch.tensor([0, 1, 0]), temperature=0.5)

    (slope,) = grad(inner(start), start, create_graph=True)
    outer = supcon(views(unseen, start - 0.5 * slope), torch.tensor([0, 1, 0]), temperature=0.5)
    (found,) = grad(outer, start)
    assert gradcheck(outer_after_true_step, (start,))
    (wanted,) = grad(outer_after_true_step(start), start)
    assert torch.allclose(found, wanted, rtol=1e-9) == right


@pytest.mark.parametrize("weighting", ["outside", "inside"])
def test_extreme_similarity_stays_finite_in_float32(weighting: str) -> None:
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]], requires_grad=True)
    soft = Positiveness(temperature=1e-4)
    loss = soft_neighbour(z, threshold=0.85, temperature=1e-4, weighting=weighting, positiveness=soft)
    assert loss.dtype == torch.float32
    assert loss.isfinite()
    assert grad(loss, z)[0].isfinite().all()


def test_one_image_alone_costs_nothing() -> None:
    assert soft_neighbour(rows(1), threshold=0.85, temperature=0.07) == 0


@pytest.mark.parametrize("threshold", [-1.5, 1.01])
def test_a_threshold_that_is_no_cosine_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match=r"`threshold` must be in \[-1, 1\]"):
        soft_neighbour(rows(2), threshold=threshold, temperature=0.07)


def test_a_softness_temperature_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"positiveness\.temperature"):
        soft_neighbour(rows(2), threshold=0.5, temperature=0.07, positiveness=Positiveness(temperature=0.0))


def test_an_unknown_weighting_is_refused_also_where_types_are_not_checked() -> None:
    z = rows(2)
    unchecked = inspect.unwrap(soft_neighbour_from_similarity)
    with pytest.raises(ValueError, match="outside or inside; got beside"):
        unchecked(z @ z.T, threshold=0.5, temperature=0.07, weighting="beside")
