"""A batch that does not fit into memory goes through the tail in parts; the loss still sees it whole.

A contrastive loss compares every view with every other, so its batch cannot be divided. What takes memory is the tail,
which treats every view by itself: of a part nothing is kept but its features, and the rest is computed anew on the way
back (gradient checkpointing; in forward mode, by a cut that `curvature` makes good for). Loss, gradient and second
derivatives are those of the whole batch up to rounding.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]
from torch.utils.checkpoint import checkpoint

from metagcd.errors import InputError
from metagcd.models.functional import Cut, beginning

if TYPE_CHECKING:
    from metagcd.engine.runtime import Runtime

T = TypeVar("T")


@dataclass
class MicroBatch:
    """How many views go through the tail at a time; halved whenever memory runs out, and so it stays."""

    size: int | None = None
    """None: all of a batch."""
    cuts: list[Cut] = field(default_factory=list[Cut], repr=False)
    """Where a second-order update was computed in parts, for `curvature`, which takes them away."""

    def __post_init__(self) -> None:
        """Refuse a part without views."""
        if self.size is not None and self.size < 1:
            raise InputError(f"`micro_batch` must be at least 1; got {self.size}.")

    def attempt(self, work: Callable[[], T], tail: nn.Module, *, views: int, runtime: "Runtime") -> T:
        """Return what the work returns, done again with half as many views at a time when memory runs out.

        The work must be repeatable: nothing it did before it failed may count. Where views cannot be parted, or
        there is one at a time, the error is raised as it came; likewise with several processes, as the others would
        wait for one that repeats its work.
        """
        while True:
            try:
                with in_parts(tail, self.size, self.cuts):
                    return work()
            except torch.OutOfMemoryError:
                present = min(self.size or views, views)
                if present == 1 or runtime.fabric.world_size > 1 or not _separable(tail):
                    raise
            # Outside of the handler, which would hold on to the tensors of the failed attempt.
            self.size = (present + 1) // 2
            torch.cuda.empty_cache()
            words = f"Out of memory with {present} views at a time; going on with {self.size}, which takes longer."
            runtime.progress.say(words)


@contextmanager
def in_parts(tail: nn.Module, size: int | None, cuts: list[Cut]) -> Generator[None]:
    """Let the tail take larger batches in parts of this size, for as long as the context lasts.

    Where parameters have a derivative along a direction, all parts but the first go into `cuts`.
    """
    cuts.clear()
    if size is None or not _separable(tail):
        yield
        return
    waiting: list[Tensor] = []

    def take_first(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Tensor] | None:  # noqa: ARG001
        (views,) = inputs
        if len(views) <= size:
            return None
        waiting.append(views[size:])
        return (views[:size],)

    def take_rest(module: nn.Module, inputs: tuple[Any, ...], first: Tensor) -> Tensor | None:  # noqa: ARG001
        if not waiting:
            return None
        # By value: when a part is computed anew, other parameters may stand in the module (`functional_call`).
        parameters: dict[str, Tensor] = dict(module.named_parameters())
        rest = waiting.pop().split(size)
        if any(unpack_dual(parameter).tangent is not None for parameter in parameters.values()):
            parts = tuple(partial(functional_call, module, parameters, (part,)) for part in rest)
            with torch.no_grad():
                computed = torch.cat([part() for part in parts])
            values = beginning(computed)
            cuts.append(Cut(values, size, parts))
            return torch.cat([first, values])
        found = [checkpoint(functional_call, module, parameters, (part,), use_reentrant=False) for part in rest]
        return torch.cat([first, *found])

    handles = tail.register_forward_pre_hook(take_first), tail.register_forward_hook(take_rest)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _separable(tail: nn.Module) -> bool:
    """Say whether the feature of a view depends on that view alone."""
    return not any(isinstance(module, _BatchNorm) and module.training for module in tail.modules())
