"""One step taken by several processes: each has a part of the batch, and all get the gradient of the whole batch.

A tensor is either *shared*, with one value in all processes, or *parted*, with something else in each. Parameters,
losses and gradients are shared. Only the tail is computed in parts: shared parameters go in, parted features come out,
and what follows them is computed by every process, on the features of all. Two operations lead from one kind to the
other, and each is the derivative of the other, so that derivatives of any order are those of a single process:

- `spread`, shared to parted, does nothing; its derivative sums over processes.
- `total`, parted to shared, sums over processes; its derivative does nothing.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from jaxtyping import Float, Float32
from torch import Tensor, distributed, nn
from torch.autograd.forward_ad import make_dual, unpack_dual
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]

from metagcd.engine.processes import among_others
from metagcd.engine.runtime import Precision, fabric_on
from metagcd.errors import InputError
from metagcd.models.functional import call, parameters_of
from metagcd.types import Array

if TYPE_CHECKING:
    from lightning_fabric import Fabric

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """Which one of how many processes that train together this is."""

    count: int = 1
    own: int = 0

    @property
    def first(self) -> bool:
        """Say whether this process is the one that writes."""
        return self.own == 0

    def part(self, n: int) -> slice:
        """Return the share of this process in n things; shares differ by at most one."""
        return slice(n * self.own // self.count, n * (self.own + 1) // self.count)

    def require_share(self, images: int) -> None:
        """Refuse a batch of which a process would have nothing."""
        if 1 < self.count > images:
            raise InputError(
                f"A batch of {images} images cannot be shared by {self.count} processes; use fewer of them."
            )


ALONE = Ranks()
"""The process that trains by itself."""


def ranks_of(fabric: "Fabric") -> Ranks:
    """Return the place of this process among those that the Fabric was launched with."""
    return Ranks(fabric.world_size, fabric.global_rank)


def launched(device: str = "auto", *, precision: Precision = "32-true") -> "Fabric":
    """Return the Fabric of the processes that were started together, one per device, or of one by itself."""
    if not among_others():
        return fabric_on(device, precision=precision)
    here, everywhere = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    fabric = fabric_on(device, devices=here, nodes=everywhere // here, precision=precision)
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it would announce every process
    fabric.launch()
    return fabric


def of_first(fabric: "Fabric", work: Callable[[], T]) -> T:
    """Return to all processes what the work returns in the first, which alone does it; its InputError is raised in all.

    So what is read, or decided by what lies on a disk, is the same for all, even if they do not share that disk.
    """
    if fabric.world_size == 1:
        return work()
    outcome: tuple[T | None, str | None] = (None, None)
    if fabric.is_global_zero:
        try:
            outcome = work(), None
        except InputError as error:
            outcome = None, str(error)
    found, refusal = fabric.broadcast(outcome)
    if refusal is not None:
        raise InputError(refusal)
    return found  # type: ignore[return-value]


def through(
    tail: nn.Module, tokens: Float[Tensor, "own_views ..."], *, images: int, ranks: Ranks = ALONE
) -> Float[Tensor, "views d"]:
    """Return the features of the views of a whole batch of so many images, of which `tokens` are this process's part.

    Both have view 1 of all their images stacked on view 2.
    """
    if ranks.count == 1:
        return tail(tokens)
    if any(isinstance(module, _BatchNorm) and module.training for module in tail.modules()):
        raise InputError(
            "Several processes cannot train batch normalisation whose statistics move: each sees its part of a batch."
        )
    parameters = parameters_of(tail)
    own = call(tail, dict(zip(parameters, spread(tuple(parameters.values())), strict=True)), tokens)
    part = ranks.part(images)
    placed = functional.pad(own.unflatten(0, (2, -1)), (0, 0, part.start, images - part.stop))
    (whole,) = total((placed,))
    return whole.flatten(0, 1)


def joined(
    own: Float32[Array, "own d"], *, images: int, ranks: Ranks, device: torch.device
) -> Float32[Array, "images d"]:
    """Return the rows of all images, of which each process has a part; they travel by way of the device."""
    part = ranks.part(images)
    placed = functional.pad(torch.from_numpy(own).to(device), (0, 0, part.start, images - part.stop))
    (whole,) = _summed((placed,))
    return whole.cpu().numpy()


def spread(shared: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the same tensors for use in the part of a computation that differs between processes."""
    return _linear(_Spread.apply, shared)


def total(parted: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the sum of each tensor over all processes."""
    return _linear(_Total.apply, parted)


def average(shared: Sequence[Tensor], ranks: Ranks) -> None:
    """Put the mean over processes in the place of each tensor.

    Gradients are equal up to the order in which a device adds; after this they are equal to the bit, and so are the
    parameters that follow them, however long training lasts.
    """
    if ranks.count > 1 and shared:
        with torch.no_grad():
            for tensor, summed in zip(shared, _summed(shared), strict=True):
                tensor.copy_(summed / ranks.count)


def _linear(operation: Callable[..., Any], tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Apply a linear operation, and in forward mode to the derivatives along the direction as well."""
    found = [unpack_dual(tensor) for tensor in tensors]
    values = operation(*(one.primal for one in found))
    moving = [place for place, one in enumerate(found) if one.tangent is not None]
    if not moving:
        return values
    with torch.no_grad():  # of a derivative in forward mode no other is taken
        dots = dict(zip(moving, operation(*(found[place].tangent for place in moving)), strict=True))
    return tuple(make_dual(value, dots[place]) if place in dots else value for place, value in enumerate(values))


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG004
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG004
        return total(gradients)


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG004
        return _summed(tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:  # noqa: ARG004
        return spread(gradients)


def _summed(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the sums over processes; all travel in one message."""
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
    distributed.all_reduce(flat)
    parts = flat.split([tensor.numel() for tensor in tensors])
    # Copies, as what a Function returns must not be a view of something else that it returns.
    pairs = zip(parts, tensors, strict=True)
    return tuple(part.view(tensor.shape).to(tensor.dtype, copy=True) for part, tensor in pairs)
