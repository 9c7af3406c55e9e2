"""Whether training waits for the device: at check points alone, and nothing that is no number is kept."""

import dataclasses
import math

import pytest
import torch
from engine import feeds
from engine.test_meta_training import PLAN, WARM, work
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from metagcd.engine.checkpoint import Keeper, load_state
from metagcd.engine.finite import CHECK_EVERY, Watch
from metagcd.engine.meta_training import meta_train
from metagcd.engine.training import Optimisation, Stage
from metagcd.errors import InputError

WAITING = {
    torch.Tensor.item,
    torch.Tensor.tolist,
    torch.Tensor.cpu,
    torch.Tensor.numpy,
    torch.Tensor.nonzero,
    torch.Tensor.__float__,
    torch.Tensor.__int__,
    torch.Tensor.__bool__,
    torch.Tensor.__index__,
}
SHAPED_BY_VALUES = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2"}


class Waits(TorchFunctionMode):
    """Counts, from Python, what would wait for a device."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += function in WAITING
        return function(*args, **(kwargs or {}))


class Reads(TorchDispatchMode):
    """Counts operations whose result depends on a value that the host would have to see."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        chosen = [
            one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor) and one.dtype == torch.bool
        ]
        name = function.name().split(".")[0]
        self.count += name in SHAPED_BY_VALUES or (name.startswith("aten::index") and bool(chosen))
        return function(*args, **(kwargs or {}))


def counted(work):
    """How often a piece of work would have waited, seen from Python and from below."""
    with Waits() as waits, Reads() as reads:
        work()
    return max(waits.count, reads.count)


def test_what_waits_is_counted():
    x = torch.ones(3)
    for waiting in (x.sum().item, lambda: float(x[0]), lambda: bool(x[0] > 0), x.tolist, x.cpu, lambda: x[x > 0]):
        assert counted(waiting) >= 1
    assert counted(lambda: x @ x) == 0


@pytest.mark.parametrize("clip", [None, 1.0])
def test_training_reads_values_at_check_points_alone(clip):
    how = Optimisation(batch=8, rate=0.01, clip=clip)
    few, many = (
        counted(
            lambda amount=amount: feeds.trained(
                Stage(name="s", amount=amount, unit="update", optimisation=how), feeds.feed()
            )
        )
        for amount in (2, CHECK_EVERY)
    )
    assert many == few > 0


@pytest.mark.parametrize("inner", [{"order": 1}, {"order": 2}, {"order": 2, "recompute": False}, {"momentum": 0.5}])
def test_meta_training_reads_values_at_check_points_alone(inner):
    none = dataclasses.replace(WARM, amount=0)

    def trained(tasks):
        loop = dataclasses.replace(PLAN.inner, **inner)
        made, _ = work(dataclasses.replace(PLAN, tasks=tasks, warmups=(none, none), inner=loop))
        meta_train(made)

    few, many = (counted(lambda tasks=tasks: trained(tasks)) for tasks in (1, CHECK_EVERY // 2))
    assert many == few > 0


def test_the_first_update_that_had_no_number_is_named():
    watch = Watch(torch.device("cpu"))
    watch.saw(3, torch.tensor(1.0), torch.tensor(2.0))
    assert watch.found() is None
    watch.saw(4, torch.tensor(1.0), torch.tensor(math.inf))
    watch.saw(5, torch.tensor(math.nan))
    assert watch.found() == (4, math.inf)


def bad_at(step, features, calls):
    return features.square().mean() * (math.nan if calls == step + 1 else 1.0)


def test_a_loss_between_check_points_stops_training_with_the_batch_it_was_computed_on(tmp_path):
    stage = Stage(name="s", amount=CHECK_EVERY + 5, unit="update", optimisation=Optimisation(batch=4, rate=0.01))
    expected = list(feeds.feed().training(batch=4, first=0, last=8))[7]
    with pytest.raises(InputError, match=r"stage `s` is nan at update 7.*s-not-finite\.safetensors"):
        feeds.trained(stage, feeds.feed(keeper=Keeper(tmp_path)), loss=lambda x, calls: bad_at(7, x, calls))
    saved = load_state(tmp_path / "s-not-finite.safetensors")
    assert saved.tensors["0.rows"].tolist() == expected.rows.tolist()
    assert torch.equal(saved.tensors["0.tokens"], expected.tokens)
    assert saved.values == {"step": 7, "value": "nan"}
    assert not (tmp_path / "s.safetensors").exists()


class Exploding(torch.autograd.Function):
    """A finite loss with a gradient that is not."""

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        return gradient * math.inf


@pytest.mark.parametrize("every", [0.0, 1000.0])
@pytest.mark.parametrize("at", [0, 3, 9])
def test_parameters_that_a_gradient_has_damaged_are_never_kept(tmp_path, at, every):
    stage = Stage(name="s", amount=10, unit="update", optimisation=Optimisation(batch=4, rate=0.01))

    def loss(features, calls):
        return (Exploding.apply(features) if calls == at + 1 else features).square().mean()

    with pytest.raises(InputError, match="stage `s` is"):
        feeds.trained(stage, feeds.feed(keeper=Keeper(tmp_path, every=every)), loss=loss)
    kept = tmp_path / "s.safetensors"
    assert kept.exists() == (every == 0.0 and at > 0)
    if kept.exists():
        assert all(tensor.isfinite().all() for tensor in load_state(kept).tensors.values())
