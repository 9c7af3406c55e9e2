"""The gradient through inner updates, against finite differences and against itself computed otherwise."""

import dataclasses
import math
from itertools import accumulate

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from metagcd.engine.meta import Bilevel, InnerLoop, adapt, meta_gradient
from metagcd.errors import InputError
from metagcd.losses import soft_neighbour_from_similarity, supcon_from_similarity
from metagcd.models.functional import call, gradients, parameters_of
from metagcd.models.head import ProjectionHead
from metagcd.seeds import Seeds

LABELS = torch.tensor([0, 0, 1, 1, 2])
LOOP = InnerLoop(updates=3, rate=0.05)
ALL_SECOND_ORDER = [LOOP, dataclasses.replace(LOOP, recompute=False)]


class Attentive(nn.Module):
    """Attention over three tokens under a projection head: all that can break a second derivative."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.head = ProjectionHead(4, hidden=6, bottleneck=4, width=9, layers=2)

    def forward(self, tokens):
        mixed = scaled_dot_product_attention(self.query(tokens), tokens, tokens)
        return self.head.similarity(mixed.mean(dim=1))


def network():
    with Seeds(0).torch_scope("network"):
        module = Attentive().double()
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.5)
    return module


def tokens(number, images=5):
    return torch.randn(2 * images, 3, 4, dtype=torch.float64, generator=Seeds(0).torch("tokens", number))


def problem(updates=3, *, inner=None):
    """Three batches of the soft neighbourhood loss, judged by the supervised loss on a fourth."""
    module = network()

    def soft(parameters, batch):
        return soft_neighbour_from_similarity(call(module, parameters, batch), threshold=0.3, temperature=0.5)

    def judge(parameters):
        return supcon_from_similarity(call(module, parameters, tokens(9)), LABELS, temperature=0.5)

    batches = [tokens(number) for number in range(updates)]
    return Bilevel(inner=inner or soft, batches=batches, outer=judge), parameters_of(module)


def flat(tensors):
    return torch.cat([tensor.detach().flatten() for tensor in tensors.values()])


def numerical(bilevel, parameters, loop, direction, step=1e-5):
    """The slope of the outer loss after adaptation, along a direction in the space of parameters."""
    ends = []
    for sign in (1, -1):
        moved = {name: p.detach() + sign * step * direction[name] for name, p in parameters.items()}
        ends.append(bilevel.outer(adapt(bilevel, moved, loop)))
    return float(ends[0] - ends[1]) / (2 * step)


def directions(parameters):
    for number in range(4):
        generator = Seeds(1).torch("direction", number)
        yield {name: torch.randn(p.shape, dtype=p.dtype, generator=generator) for name, p in parameters.items()}


def slope(gradient, direction):
    return float(sum((gradient[name] * direction[name]).sum() for name in gradient))


@pytest.mark.parametrize("loop", ALL_SECOND_ORDER)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_meta_gradient_is_the_one_of_finite_differences(loop, momentum):
    loop = dataclasses.replace(loop, momentum=momentum)
    bilevel, parameters = problem()
    _, gradient = meta_gradient(bilevel, parameters, loop)
    for direction in directions(parameters):
        assert slope(gradient, direction) == pytest.approx(numerical(bilevel, parameters, loop, direction), rel=1e-6)


def test_the_first_order_gradient_is_another_one():
    bilevel, parameters = problem()
    loop = dataclasses.replace(LOOP, order=1)
    _, gradient = meta_gradient(bilevel, parameters, loop)
    wrong = [
        abs(slope(gradient, direction) / numerical(bilevel, parameters, loop, direction) - 1)
        for direction in directions(parameters)
    ]
    assert min(wrong) > 1e-3


def test_holding_the_adaptation_constant_is_what_the_first_order_does():
    bilevel, parameters = problem()
    adapted = {name: p.requires_grad_() for name, p in adapt(bilevel, parameters, LOOP).items()}
    expected = gradients(bilevel.outer(adapted), adapted)
    _, found = meta_gradient(bilevel, parameters, dataclasses.replace(LOOP, order=1))
    assert torch.equal(flat(found), flat(expected))


@pytest.mark.parametrize("loop", ALL_SECOND_ORDER)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_both_orders_agree_when_the_inner_loss_is_linear(loop, momentum):
    _, parameters = problem()
    slopes = {name: torch.linspace(-1, 1, p.numel(), dtype=p.dtype).view_as(p) for name, p in parameters.items()}
    bilevel, _ = problem(inner=lambda ps, batch: batch.sum() * sum((ps[n] * s).sum() for n, s in slopes.items()))
    loop = dataclasses.replace(loop, momentum=momentum, rate=1e-3)
    _, second = meta_gradient(bilevel, parameters, loop)
    _, first = meta_gradient(bilevel, parameters, dataclasses.replace(loop, order=1))
    assert torch.allclose(flat(first), flat(second), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loop", [*ALL_SECOND_ORDER, dataclasses.replace(LOOP, order=1)])
def test_without_inner_updates_it_is_supervised_contrastive_training(loop):
    bilevel, parameters = problem(updates=0)
    expected = bilevel.outer(parameters)
    loss, gradient = meta_gradient(bilevel, parameters, loop)
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-14)  # by another kernel of attention
    assert torch.allclose(flat(gradient), flat(gradients(expected, parameters)), rtol=1e-10, atol=1e-12)


def test_a_rate_of_0_adapts_nothing():
    bilevel, parameters = problem()
    assert torch.equal(flat(adapt(bilevel, parameters, dataclasses.replace(LOOP, rate=0.0))), flat(parameters))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_adapting_is_what_the_optimiser_of_torch_does(momentum):
    bilevel, _ = problem()
    module = network()
    loop = dataclasses.replace(LOOP, momentum=momentum)
    expected = adapt(bilevel, parameters_of(module), loop)
    optimiser = torch.optim.SGD(module.parameters(), lr=loop.rate, momentum=momentum)
    for batch in bilevel.batches:
        optimiser.zero_grad()
        soft_neighbour_from_similarity(module(batch), threshold=0.3, temperature=0.5).backward()
        optimiser.step()
    assert torch.allclose(flat(parameters_of(module)), flat(expected), rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_computing_anew_gives_the_same_gradient(momentum):
    bilevel, parameters = problem()
    again, kept = (
        meta_gradient(bilevel, parameters, dataclasses.replace(loop, momentum=momentum)) for loop in ALL_SECOND_ORDER
    )
    assert torch.equal(again[0], kept[0])
    assert float((flat(again[1]) - flat(kept[1])).abs().max()) < 1e-10


def peak(loop, updates):
    """The most bytes that are held at one time beside what is there before."""
    bilevel, parameters = problem(updates)
    meta_gradient(bilevel, parameters, loop)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        meta_gradient(bilevel, parameters, loop)
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    assert len(changes) > 100
    return max(accumulate(changes))


def test_what_waits_for_the_way_back_grows_with_the_inner_updates_by_the_parameters_alone():
    again, kept = ALL_SECOND_ORDER
    copies = 4 * sum(parameter.nbytes for parameter in network().parameters())
    assert peak(again, 6) <= peak(again, 2) + 1.1 * copies
    assert peak(kept, 6) > peak(kept, 2) + 4 * copies


def test_neither_parameters_nor_their_gradients_are_touched():
    bilevel, parameters = problem()
    before = flat(parameters).clone()
    for loop in (*ALL_SECOND_ORDER, dataclasses.replace(LOOP, order=1)):
        meta_gradient(bilevel, parameters, loop)
    assert torch.equal(flat(parameters), before)
    assert all(parameter.grad is None for parameter in parameters.values())


def test_a_descent_along_the_meta_gradient_lowers_the_loss_after_adaptation():
    bilevel, parameters = problem()
    losses = []
    for _ in range(20):
        loss, gradient = meta_gradient(bilevel, parameters, LOOP)
        parameters = {name: (p - 0.1 * gradient[name]).detach() for name, p in parameters.items()}
        losses.append(float(loss))
    assert losses[-1] < losses[0] - 0.1
    assert all(math.isfinite(loss) for loss in losses)


@pytest.mark.parametrize("wrong", [{"updates": -1}, {"rate": -1.0}, {"batch": 0}, {"momentum": 1.0}])
def test_a_loop_that_means_nothing_is_refused(wrong):
    with pytest.raises(InputError, match="must not be negative"):
        InnerLoop(**wrong)
