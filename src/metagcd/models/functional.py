"""A module as a function of its parameters, so that one can differentiate through its updates."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
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
