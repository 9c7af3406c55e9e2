"""Parameters adapted without labels, judged with them, and the gradient through both (Alg. 1, lines 10 and 13).

Everything here is a function of parameters: nothing is changed in place, no module is touched.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.errors import InputError
from metagcd.models.functional import Cut, curvature, gradients, math_attention

Parameters = Mapping[str, Tensor]
Loss = Float[Tensor, ""]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class InnerLoop:
    """How parameters are adapted to one pseudo session (Alg. 1, line 10)."""

    updates: int = 10
    """Gradient steps per pseudo session; the paper's 10 inner updates."""
    rate: float = 1e-3
    """Learning rate; the paper's alpha."""
    momentum: float = 0.0
    """Of the steps; none in the paper."""
    batch: int = 128
    """Images per step, each in two views. The paper says 256 without saying of what; released code: 128 images."""
    order: Literal[1, 2] = 2
    """2 differentiates through the steps (the paper); 1 takes the gradient at the adapted parameters as it is."""
    recompute: bool = True
    """Keep the parameters of every step and compute the rest anew on the way back, instead of keeping all of it."""

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.updates < 0 or self.rate < 0 or self.batch < 1 or not 0 <= self.momentum < 1:
            raise InputError(
                "`updates` and `rate` must not be negative, `batch` at least 1 and `momentum` in [0, 1); got "
                f"{self.updates}, {self.rate}, {self.batch} and {self.momentum}."
            )


@dataclass(frozen=True, kw_only=True)
class Bilevel(Generic[T]):
    """An inner loss, the batches it is descended on, one step each, and the loss of where that leads."""

    inner: Callable[[Parameters, T], Loss]
    batches: Sequence[T]
    outer: Callable[[Parameters], Loss]


@dataclass(frozen=True)
class _Place:
    """Where a descent stands; without momentum there is no velocity."""

    parameters: dict[str, Tensor]
    velocity: dict[str, Tensor]

    def leaf(self) -> "_Place":
        """Return the same place as a new beginning of differentiation."""
        fresh = [{name: t.detach().requires_grad_() for name, t in d.items()} for d in (self.parameters, self.velocity)]
        return _Place(*fresh)


def adapt(problem: Bilevel[T], parameters: Parameters, loop: InnerLoop) -> dict[str, Tensor]:
    """Return the parameters after one step on each batch, as constants."""
    place = _start(parameters, loop)
    for batch in problem.batches:
        place = _step(problem, place, batch, loop).leaf()
    return {name: tensor.detach() for name, tensor in place.parameters.items()}


def meta_gradient(
    problem: Bilevel[T], parameters: Parameters, loop: InnerLoop, *, cuts: list[Cut] | None = None
) -> tuple[Loss, dict[str, Tensor]]:
    """Return the outer loss of the adapted parameters, and its gradient for the parameters before the adaptation.

    With `recompute` the graph of one loss exists at a time; what is kept per step is one copy of the parameters.
    It gives the same gradient as keeping every graph, provided that a loss has one value for the same arguments.
    Into `cuts` an inner loss may put where it was computed in parts.
    """
    # Only the plain products of attention have a second derivative.
    with math_attention() if loop.order == 2 else nullcontext():
        if loop.order == 2 and loop.recompute:
            return _backwards(problem, parameters, loop, cuts)
        start = place = _start(parameters, loop)
        for batch in problem.batches:
            place = _step(problem, place, batch, loop, create_graph=loop.order == 2)
            place = place if loop.order == 2 else place.leaf()
        loss = problem.outer(place.parameters)
        return loss.detach(), gradients(loss, start.parameters if loop.order == 2 else place.parameters)


def _backwards(
    problem: Bilevel[T], parameters: Parameters, loop: InnerLoop, cuts: list[Cut] | None
) -> tuple[Loss, dict[str, Tensor]]:
    """Walk to the end, then carry the gradient back through one step at a time."""
    places = [_start(parameters, loop)]
    for batch in problem.batches:
        places.append(_step(problem, places[-1], batch, loop).leaf())
    place = places.pop()
    loss = problem.outer(place.parameters)
    carried = gradients(loss, place.parameters)
    of_velocity = {name: torch.zeros_like(tensor) for name, tensor in place.velocity.items()}
    del place
    for batch in reversed(problem.batches):
        here = places.pop().parameters
        # A step is velocity' = momentum velocity + gradient, parameters' = parameters - rate velocity'.
        direction = {n: of_velocity[n] - loop.rate * c for n, c in carried.items()} if of_velocity else carried
        turned = curvature(partial(_of_batch, problem, batch), here, direction, cuts=cuts)
        with torch.no_grad():
            for name, tensor in carried.items():
                tensor.add_(turned.pop(name), alpha=1.0 if of_velocity else -loop.rate)
        of_velocity = {n: loop.momentum * d for n, d in direction.items()} if of_velocity else {}
    return loss.detach(), carried


def _of_batch(problem: Bilevel[T], batch: T, parameters: Parameters) -> Loss:
    return problem.inner(parameters, batch)


def _start(parameters: Parameters, loop: InnerLoop) -> _Place:
    velocity = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()} if loop.momentum else {}
    return _Place(dict(parameters), velocity).leaf()


def _step(problem: Bilevel[T], place: _Place, batch: T, loop: InnerLoop, *, create_graph: bool = False) -> _Place:
    """Return the place after one step (Alg. 1, line 10), as a function of the place when its graph is created."""
    found = gradients(problem.inner(place.parameters, batch), place.parameters, create_graph=create_graph)
    if place.velocity:
        found = {name: loop.momentum * place.velocity[name] + gradient for name, gradient in found.items()}
    with nullcontext() if create_graph else torch.no_grad():  # the step's end is a constant when nobody asks
        moved = {name: tensor - loop.rate * found[name] for name, tensor in place.parameters.items()}
    return _Place(moved, found if place.velocity else {})
