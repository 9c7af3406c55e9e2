"""A module as a function of its parameters, so that one can differentiate through its updates."""

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel


def parameters_of(module: nn.Module) -> dict[str, Tensor]:
    """Return the parameters that are trained, by name; of a parametrised weight, what it is made from."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def call(
    module: nn.Module, parameters: Mapping[str, Tensor], *args: Any, method: str = "forward", **options: Any
) -> Any:
    """Return what the module, or this method of it, returns with these parameters in place of its own.

    Parameters that are not named keep the module's values. A name the module does not have is an error.
    """
    unknown = parameters.keys() - dict(module.named_parameters()).keys()
    if unknown:
        raise ValueError(f"{type(module).__name__} has no parameter {', '.join(sorted(unknown))}.")
    replaced = {f"module.{name}": parameter for name, parameter in parameters.items()}
    return functional_call(_Method(module, method), replaced, args, options)


def gradients(loss: Tensor, parameters: Mapping[str, Tensor], *, create_graph: bool = False) -> dict[str, Tensor]:
    """Return the gradient for each parameter, zero where the loss does not depend on it.

    With `create_graph` the gradients are themselves functions of the parameters (second order).
    """
    found = torch.autograd.grad(
        loss, tuple(parameters.values()), create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return dict(zip(parameters, found, strict=True))


@dataclass(frozen=True, eq=False)
class Cut:
    """Where a computation is cut in two, so that what leads to the cut exists for one part of the input at a time."""

    values: Tensor
    """What the second half begins with, as a beginning of differentiation."""
    rows: int
    """Of the values, per part; the last may have fewer."""
    parts: tuple[Callable[[], Tensor], ...]
    """Each computes its rows of the values anew, out of the same parameters."""


def beginning(values: Tensor) -> Tensor:
    """Return the same values as a beginning of differentiation, with their derivative along the direction."""
    if not torch.is_grad_enabled():
        raise ValueError("Nothing begins where no gradient is taken.")
    found = unpack_dual(values)
    leaf = found.primal.detach().requires_grad_()
    return leaf if found.tangent is None else make_dual(leaf, found.tangent.detach())


def curvature(
    loss: Callable[[Mapping[str, Tensor]], Tensor],
    parameters: Mapping[str, Tensor],
    direction: Mapping[str, Tensor],
    *,
    cuts: list[Cut] | None = None,
) -> dict[str, Tensor]:
    """Return H v: the second derivative of a loss, times a direction v in the space of its parameters.

    It is the derivative along v of the gradient (forward over reverse mode): some three gradients in time and memory,
    and no graph of a gradient. Where an operation of the loss has no derivative in forward mode, the gradient is
    differentiated instead. Cuts that the loss has put there are made good for, one part at a time, and taken away.
    """
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in parameters.items()}
    try:
        with _forward_mode():
            duals = {name: make_dual(leaf, direction[name]) for name, leaf in leaves.items()}
            value = loss(duals)
            if not value.requires_grad:
                return {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}
            return _derivatives(value, duals, cuts or ())
    except NotImplementedError:
        found = gradients(loss(leaves), leaves, create_graph=True)
        moving = {name: gradient for name, gradient in found.items() if gradient.requires_grad}
        slope = sum(((gradient * direction[name]).sum() for name, gradient in moving.items()), torch.zeros(()))
        return gradients(slope, leaves) if moving else {n: torch.zeros_like(t) for n, t in leaves.items()}
    finally:
        if cuts is not None:
            cuts.clear()


@contextmanager
def _forward_mode() -> Generator[None]:
    """Let tensors have a derivative along a direction."""
    with ExitStack() as stack:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch prepares formulas of its own in a way it deprecates
            stack.enter_context(dual_level())
            make_dual(torch.zeros(()), torch.zeros(()))
        yield


def _derivatives(value: Tensor, duals: Mapping[str, Tensor], cuts: Sequence[Cut]) -> dict[str, Tensor]:
    """Return the derivatives of the gradients along the direction of the parameters."""
    everything = (*duals.values(), *(cut.values for cut in cuts))
    found = torch.autograd.grad(value, everything, allow_unused=True, materialize_grads=True)
    total = [_along(gradient) for gradient in found[: len(duals)]]
    for cut, gradient in zip(cuts, found[len(duals) :], strict=True):
        for part, wanted in zip(cut.parts, gradient.split(cut.rows), strict=True):
            computed = part()
            more = torch.autograd.grad(
                computed, tuple(duals.values()), wanted, allow_unused=True, materialize_grads=True
            )
            total = [one + _along(other) for one, other in zip(total, more, strict=True)]
    return dict(zip(duals, total, strict=True))


def _along(gradient: Tensor) -> Tensor:
    """Return the derivative of a gradient along the direction; zero where it does not move."""
    found = unpack_dual(gradient)
    # Outside of the level a tangent is gone, what it consists of is not.
    return torch.zeros_like(found.primal) if found.tangent is None else found.tangent


def sgd(parameters: Mapping[str, Tensor], gradients: Mapping[str, Tensor], rate: float) -> dict[str, Tensor]:
    """Return the parameters after one gradient step, as a function of both (Alg. 1, line 10)."""
    return {name: parameter - rate * gradients[name] for name, parameter in parameters.items()}


@contextmanager
def math_attention() -> Generator[None]:
    """Compute attention by plain products, the only kernel that can be differentiated twice."""
    with sdpa_kernel(SDPBackend.MATH):
        yield


class _Method(nn.Module):
    """Make a method of a module what its call does: `functional_call` can only call."""

    def __init__(self, module: nn.Module, method: str) -> None:
        super().__init__()
        self.module = module
        self.method = method

    def forward(self, *args: Any, **options: Any) -> Any:
        if self.method == "forward":
            return self.module(*args, **options)
        return getattr(self.module, self.method)(*args, **options)
