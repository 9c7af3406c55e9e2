"""A batch too large for memory: the same result in parts, and nothing of the attempt that failed."""

import io
from dataclasses import replace

import pytest
import torch
from engine import feeds
from rich.console import Console
from torch import nn
from torch.func import functional_call

from metagcd.engine.meta import Bilevel, InnerLoop, meta_gradient
from metagcd.engine.micro import MicroBatch, in_parts
from metagcd.engine.runtime import Runtime
from metagcd.engine.training import Optimisation, Stage
from metagcd.errors import InputError
from metagcd.losses import info_nce
from metagcd.models.functional import parameters_of
from metagcd.progress import Progress

STAGE = Stage(name="warm", amount=3, unit="update", optimisation=Optimisation(batch=8, rate=0.1, schedule="constant"))


class Cramped(nn.Module):
    """A network that has room for so many views at a time."""

    def __init__(self, room=10**9):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 4)).double()
        self.room, self.seen = room, []

    def forward(self, x):
        if len(x) > self.room:
            raise torch.OutOfMemoryError("no room")
        self.seen.append(len(x))
        return self.inner(x)


def loss_of(features, _=None):
    return info_nce(nn.functional.normalize(features, dim=-1), temperature=0.5)


def views(n=12):
    return torch.randn(n, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def telling(size=None):
    """A runtime, and what it says."""
    words = io.StringIO()
    progress = Progress(Console(file=words, soft_wrap=True))
    return Runtime(progress=progress, micro=MicroBatch(size), threads=1), words


@pytest.mark.parametrize("size", [1, 3, 4, 11, 12, 50])
def test_loss_and_gradient_in_parts_are_those_of_the_whole(size):
    tail = Cramped()
    expected = loss_of(tail(views()))
    whole = torch.autograd.grad(expected, tuple(tail.parameters()))
    tail.seen.clear()
    with in_parts(tail, size, []):
        found = loss_of(tail(views()))
        parts = torch.autograd.grad(found, tuple(tail.parameters()))
    assert max(tail.seen) <= size
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-12)


def test_after_it_the_tail_takes_whole_batches_again():
    tail = Cramped()
    with in_parts(tail, 2, []):
        tail(views())
    tail.seen.clear()
    tail(views())
    assert tail.seen == [12]


def problem_of(tail):
    """Two inner batches and one that is judged, through a tail and a loss that sees all views."""

    def inner(parameters, batch):
        return loss_of(functional_call(tail, parameters, (batch,)))

    return Bilevel(inner=inner, batches=[views(), 2 * views()], outer=lambda p: inner(p, -views()))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("momentum", [0.0, 0.5])
@pytest.mark.parametrize("size", [1, 5])
def test_the_gradient_through_inner_updates_in_parts_is_that_of_the_whole(size, momentum, order):
    tail, cuts = Cramped(), []
    problem, parameters = problem_of(tail), parameters_of(tail)
    loop = InnerLoop(updates=2, rate=0.5, momentum=momentum, order=order)
    loss, whole = meta_gradient(problem, parameters, loop)
    tail.seen.clear()
    with in_parts(tail, size, cuts):
        found, parts = meta_gradient(problem, parameters, loop, cuts=cuts)
    assert max(tail.seen) <= size
    assert cuts == []
    torch.testing.assert_close(found, loss, rtol=0, atol=1e-12)
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-12)


def test_the_orders_that_are_compared_differ():
    tail = Cramped()
    first, second = (
        meta_gradient(problem_of(tail), parameters_of(tail), InnerLoop(updates=2, rate=0.5, order=order))[1]
        for order in (1, 2)
    )
    assert max(float((first[name] - second[name]).abs().max()) for name in first) > 1e-3


@pytest.mark.parametrize("order", [1, 2])
def test_memory_that_runs_out_in_inner_updates_is_gone_on_from_in_parts(order):
    tail, (runtime, words) = Cramped(room=5), telling()
    problem, loop = problem_of(tail), InnerLoop(updates=2, rate=0.5, order=order)

    def work():
        return meta_gradient(problem, parameters_of(tail), loop, cuts=runtime.micro.cuts)

    found = runtime.micro.attempt(work, tail, views=12, runtime=runtime)
    roomy = Cramped()
    roomy.load_state_dict(tail.state_dict())
    expected = meta_gradient(problem_of(roomy), parameters_of(roomy), loop)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert runtime.micro.size == 3
    assert words.getvalue().count("Out of memory") == 2


def test_training_that_runs_out_of_memory_ends_where_it_would_have():
    roomy = feeds.feed()
    runtime, words = telling()
    cramped = replace(feeds.feed(), runtime=runtime)
    read, seen = cramped.encoder.tail.read, []

    def narrow(model, tokens):
        seen.append(len(tokens))
        if len(tokens) > 5:
            raise torch.OutOfMemoryError("no room")
        return read(model, tokens)

    cramped.encoder.tail.read = narrow
    for source in (roomy, cramped):
        source.encoder.tail.double()
        feeds.trained(STAGE, source, loss=loss_of)
    torch.testing.assert_close(
        feeds.weights(cramped.encoder.tail), feeds.weights(roomy.encoder.tail), rtol=0, atol=1e-6
    )
    assert [count for count in seen if count > 5] == [16, 8]
    assert words.getvalue().count("Out of memory") == 2
    assert "with 8 views at a time; going on with 4" in words.getvalue()
    assert runtime.micro.size == 4


def test_memory_that_runs_out_on_the_way_back_leaves_nothing_of_the_attempt():
    tail, calls = Cramped(), []
    (runtime, _) = telling()

    def work():
        tail.zero_grad()
        calls.append(runtime.micro.size)
        loss_of(tail(views())).backward()
        if len(calls) < 3:
            raise torch.OutOfMemoryError("no room")
        return [parameter.grad.clone() for parameter in tail.parameters()]

    found = runtime.micro.attempt(work, tail, views=12, runtime=runtime)
    expected = torch.autograd.grad(loss_of(tail(views())), tuple(tail.parameters()))
    assert calls == [None, 6, 3]
    torch.testing.assert_close(found, list(expected), rtol=0, atol=1e-12)


def test_with_one_view_at_a_time_the_error_is_raised():
    runtime, words = telling()
    tail = Cramped(room=0)
    with pytest.raises(torch.OutOfMemoryError, match="no room"):
        runtime.micro.attempt(lambda: tail(views()), tail, views=12, runtime=runtime)
    assert words.getvalue().count("Out of memory") == 4


def test_views_that_share_statistics_are_not_parted():
    runtime, words = telling()
    tail = nn.Sequential(Cramped(room=4), nn.BatchNorm1d(4).double())
    with pytest.raises(torch.OutOfMemoryError):
        runtime.micro.attempt(lambda: tail(views()), tail, views=12, runtime=runtime)
    assert not words.getvalue()
    with in_parts(tail.eval(), 3, []):
        assert len(tail(views())) == 12


def test_a_part_without_views_is_refused():
    with pytest.raises(InputError, match="`micro_batch` must be at least 1; got 0"):
        MicroBatch(0)
