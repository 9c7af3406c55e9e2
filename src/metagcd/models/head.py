"""The projection head of DINO, and its similarities without the 65536-wide product."""

from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

EPSILON = 1e-24
"""Floor of a squared norm: a zero row stays zero, with finite first and second derivatives."""

ROWS = 512
"""Rows of the wide layer that a processor works on at a time: half a megabyte, which stays in a cache."""

DEVICE_ROWS = 8192
"""The same elsewhere, where every part costs the launches of its operations. Not measured on a graphics processor."""


class ProjectionHead(nn.Module):
    """Map features h to unit rows: an MLP, a unit bottleneck b, and a wide linear layer W with unit rows.

    Losses need only the cosines of the projections z = W b, and z_i.z_j = b_i' G b_j with the small
    G = W'W. So `similarity` need not form z; what it returns is equal to that of `project` up to rounding.
    Weights start as DINO's do: the MLP from a truncated normal (0.02) with zero biases, W as any linear layer.

    Note: W is weight-normalised with its gain fixed to 1, so there is no gain among the parameters. The rows
    are normalised here, because the kernel behind torch's `weight_norm` takes the norm for a constant when it
    is differentiated twice: no error, wrong second derivatives.
    """

    def __init__(
        self, dim: int, *, hidden: int = 2048, bottleneck: int = 256, width: int = 65536, layers: int = 3
    ) -> None:
        super().__init__()
        self.mlp = _perceptron(dim, hidden, bottleneck, layers)
        self.last = nn.Linear(bottleneck, width, bias=False)

    def bottleneck(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n bottleneck"]:
        """Return unit rows b, the input of the last layer."""
        return _unit(self.mlp(h))

    def project(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n width"]:
        """Return unit rows z."""
        return _unit(self.bottleneck(h) @ _unit(self.last.weight).T)

    def forward(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n width"]:
        """Return `project(h)`."""
        return self.project(h)

    def gram(self) -> Float[Tensor, "bottleneck bottleneck"]:
        """Return G = W'W; one may serve several calls of `similarity` between two updates."""
        return unit_gram(self.last.weight)

    def similarity(
        self, h: Float[Tensor, "n dim"], *, gram: Float[Tensor, "bottleneck bottleneck"] | None = None
    ) -> Float[Tensor, "n n"]:
        """Return the cosines of all pairs of projections, by whichever order of products is cheaper."""
        b = self.bottleneck(h)
        if gram is None and not self._small_first(len(h)):
            s = unit_products(self.last.weight, b)
        else:
            s = b @ (self.gram() if gram is None else gram) @ b.T
        scale = s.diagonal().clamp_min(EPSILON).rsqrt()
        return scale[:, None] * s * scale

    def _small_first(self, rows: int) -> bool:
        """Whether b (W'W) b' takes fewer multiplications per row of W than (W b)'(W b), derivatives included."""
        bottleneck = self.last.in_features
        return 2 * bottleneck**2 < 4 * bottleneck * rows + 2 * rows**2


class Projection(nn.Module):
    """Map features to unit rows by the MLP of `ProjectionHead` alone, without its wide last layer (SimGCD)."""

    def __init__(self, dim: int, *, hidden: int = 2048, bottleneck: int = 256, layers: int = 3) -> None:
        super().__init__()
        self.mlp = _perceptron(dim, hidden, bottleneck, layers)

    def forward(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n bottleneck"]:
        """Return unit rows z."""
        return _unit(self.mlp(h))


def unit_gram(v: Float[Tensor, "n k"]) -> Float[Tensor, "k k"]:
    """Return W'W for W = v with its rows brought to norm 1, never holding more than a part of the rows of W."""
    return _UnitGram.apply(v)  # type: ignore[no-any-return]


class _UnitGram(torch.autograd.Function):
    """Half the products that the derivative of W'W would take, and of v alone; any order of derivative works."""

    generate_vmap_rule = True

    @staticmethod
    def forward(v: Tensor) -> Tensor:
        total = v.new_zeros(v.shape[1], v.shape[1])
        with torch.autocast(v.device.type, enabled=False):  # a sum of many rows, in full precision
            for rows in _in_parts(v):
                w = _unit(rows)
                total = torch.addmm(total, w.T, w)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (v,), (gradient,) = ctx.saved_tensors, gradients
        both = gradient + gradient.T
        if torch.is_grad_enabled():  # a later derivative needs the parts
            return torch.cat([_through_unit(rows, both) for rows in _in_parts(v)])
        whole = torch.empty_like(v)
        for rows, place in zip(_in_parts(v), _in_parts(whole), strict=True):
            place.copy_(_through_unit(rows, both))
        return whole


def unit_products(v: Float[Tensor, "m k"], b: Float[Tensor, "n k"]) -> Float[Tensor, "n n"]:
    """Return (W b')'(W b') for W = v with its rows brought to norm 1, for few b; W b' is held in parts alone."""
    return _UnitProducts.apply(v, b)  # type: ignore[no-any-return]


class _UnitProducts(torch.autograd.Function):
    """Part by part, so that a part stays in the processor's cache; any order of derivative works."""

    generate_vmap_rule = True

    @staticmethod
    def forward(v: Tensor, b: Tensor) -> Tensor:
        total = v.new_zeros(len(b), len(b))
        with torch.autocast(v.device.type, enabled=False):  # a sum of many rows, in full precision
            for rows in _in_parts(v):
                z = b.to(v.dtype) @ _unit(rows).T
                total = torch.addmm(total, z, z.T)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (v, b), (gradient,) = ctx.saved_tensors, gradients
        both = gradient + gradient.T
        if torch.is_grad_enabled():  # a later derivative needs the parts
            parts = [_through_products(rows, b, both) for rows in _in_parts(v)]
            return torch.cat([dv for dv, _ in parts]), torch.stack([db for _, db in parts]).sum(dim=0)
        whole, db = torch.empty_like(v), torch.zeros_like(b)
        for rows, place in zip(_in_parts(v), _in_parts(whole), strict=True):
            dv, part = _through_products(rows, b, both)
            place.copy_(dv)
            db += part
        return whole, db


def _in_parts(v: Float[Tensor, "m k"]) -> tuple[Tensor, ...]:
    return v.split(ROWS if v.device.type == "cpu" else DEVICE_ROWS)


def _through_products(v: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of z z' for z = b W' with respect to v and b."""
    scale = _inverse_norm(v)
    w = v * scale
    dz = both @ (b @ w.T)
    return _across(w, dz.T @ b, scale), dz @ w


def _through_unit(v: Tensor, both: Tensor) -> Tensor:
    """Return the gradient of W'W with respect to v."""
    scale = _inverse_norm(v)
    w = v * scale
    return _across(w, w @ both, scale)


def _across(w: Tensor, dw: Tensor, scale: Tensor) -> Tensor:
    """Return a gradient less what would only lengthen rows, over their norm."""
    return (dw - w * (w * dw).sum(dim=1, keepdim=True)) * scale


def _unit(x: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    return x * _inverse_norm(x)


def _inverse_norm(x: Float[Tensor, "n k"]) -> Float[Tensor, "n 1"]:
    return x.square().sum(dim=1, keepdim=True).clamp_min(EPSILON).rsqrt()


def _perceptron(dim: int, hidden: int, bottleneck: int, layers: int) -> nn.Sequential:
    if layers < 1:
        raise ValueError(f"`layers` must be at least 1; got {layers}.")
    mlp = nn.Sequential()
    for size, following in pairwise([dim, *[hidden] * (layers - 1), bottleneck]):
        if len(mlp):
            mlp.append(nn.GELU())
        mlp.append(_linear(size, following))
    return mlp


def _linear(size: int, following: int) -> nn.Linear:
    layer = nn.Linear(size, following)
    nn.init.trunc_normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer
