import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metagcd.losses.ranking import FLOOR, consistency, pairwise_cross_entropy, ramp, same_top


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def probabilities(rows, classes, seed=0):
    return drawn(rows, classes, seed=seed).softmax(dim=1)


def largest(row, k):
    return set(sorted(range(len(row)), key=lambda place: -float(row[place]))[:k])


@given(rows=st.integers(0, 7), dim=st.integers(1, 6), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_a_pair_is_the_same_where_the_sets_of_largest_dimensions_are(rows, dim, k, seed):
    features = drawn(rows, dim, seed=seed)
    same = same_top(features, k=k)
    for i in range(rows):
        for j in range(rows):
            assert bool(same[i, j]) == (largest(features[i], k) == largest(features[j], k))


def test_the_order_and_the_scale_of_the_largest_dimensions_do_not_matter():
    features = torch.tensor([[3.0, 2.0, 1.0, 0.0], [20.0, 30.0, 1.0, 0.0], [3.0, 0.0, 2.0, 1.0]])
    assert same_top(features, k=2).tolist() == [[True, True, False], [True, True, False], [False, False, True]]


def test_ranks_need_a_dimension():
    with pytest.raises(ValueError, match="`k` must be at least 1; got 0"):
        same_top(torch.zeros(2, 3), k=0)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_the_pairwise_loss_is_the_sum_written_out(classes):
    p, q = probabilities(4, classes), probabilities(4, classes, seed=1)
    same = drawn(4, 4, seed=2) > 0
    total = 0.0
    for i in range(4):
        for j in range(4):
            agree = min(sum(float(p[i, c] * q[j, c]) for c in range(classes)), 1.0)
            total -= math.log((agree if same[i, j] else 1 - agree) + FLOOR)
    assert float(pairwise_cross_entropy(p, q, same)) == pytest.approx(total / 16, rel=1e-6)


def test_the_gradient_of_the_pairwise_loss_agrees_with_finite_differences():
    a, b = drawn(4, 3).requires_grad_(), drawn(4, 3, seed=1).requires_grad_()
    same = drawn(4, 4, seed=2) > 0
    assert torch.autograd.gradcheck(lambda a, b: pairwise_cross_entropy(a.softmax(1), b.softmax(1), same), (a, b))


@pytest.mark.parametrize("same", [True, False])
def test_certain_predictions_give_finite_losses_and_gradients(same):
    logits = (1000 * torch.eye(3)).requires_grad_()
    p = logits.softmax(dim=1)
    loss = pairwise_cross_entropy(p, p, torch.full((3, 3), fill_value=same))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_one_class_teaches_nothing():
    logits = drawn(4, 1).requires_grad_()
    p = logits.softmax(dim=1)
    pairwise_cross_entropy(p, p, torch.eye(4, dtype=torch.bool)).backward()
    assert not logits.grad.any()


def test_without_images_the_pairwise_loss_is_zero():
    nothing = torch.zeros(0, 3)
    assert float(pairwise_cross_entropy(nothing, nothing, torch.zeros(0, 0, dtype=torch.bool))) == 0


def test_consistency_is_the_mean_squared_difference_written_out():
    p, q = probabilities(4, 3), probabilities(4, 3, seed=1)
    total = sum(float(p[i, c] - q[i, c]) ** 2 for i in range(4) for c in range(3))
    assert float(consistency(p, q)) == pytest.approx(total / 12)
    assert float(consistency(p, p)) == 0


def test_the_ramp_rises_to_one_and_stays():
    shares = [ramp(step, length=10.0) for step in range(15)]
    assert shares[0] == pytest.approx(math.exp(-5))
    assert shares[5] == pytest.approx(math.exp(-5 * 0.25))
    assert all(one < other for one, other in pairwise(shares[:11]))
    assert shares[10:] == [1.0] * 5
    assert ramp(0, length=0.0) == 1
