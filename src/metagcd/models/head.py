"""The projection head of DINO, and its similarities without the 65536-wide product."""

from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

EPSILON = 1e-24
"""Floor of a squared norm: a zero row stays zero, with finite first and second derivatives."""


class ProjectionHead(nn.Module):
    """Map features h to unit rows: an MLP, a unit bottleneck b, and a wide linear layer W with unit rows.

    Losses need only the cosines of the projections z = W b, and z_i.z_j = b_i' G b_j with the small
    G = W'W. So `similarity` need not form z; what it returns is equal to that of `project` up to rounding.
    Weights start as DINO's do: MLP from a truncated normal (0.02), zero biases, W by direction only, its
    gain being 1 and not trained.
    """

    def __init__(
        self, dim: int, *, hidden: int = 2048, bottleneck: int = 256, width: int = 65536, layers: int = 3
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"`layers` must be at least 1; got {layers}.")
        sizes = [dim, *[hidden] * (layers - 1), bottleneck]
        self.mlp = nn.Sequential()
        for size, following in pairwise(sizes):
            if len(self.mlp):
                self.mlp.append(nn.GELU())
            self.mlp.append(_linear(size, following))
        self.last = _unit_rows(bottleneck, width)

    def bottleneck(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n bottleneck"]:
        """Return unit rows b, the input of the last layer."""
        return _unit(self.mlp(h))

    def project(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n width"]:
        """Return unit rows z."""
        return _unit(self.last(self.bottleneck(h)))

    def forward(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n width"]:
        """Return `project(h)`."""
        return self.project(h)

    def gram(self) -> Float[Tensor, "bottleneck bottleneck"]:
        """Return G = W'W; one may serve several calls of `similarity` between two updates."""
        return gram(self.last.weight)

    def similarity(
        self, h: Float[Tensor, "n dim"], *, gram: Float[Tensor, "bottleneck bottleneck"] | None = None
    ) -> Float[Tensor, "n n"]:
        """Return the cosines of all pairs of projections, by whichever order of products is cheaper."""
        b = self.bottleneck(h)
        if gram is None and not self._small_first(len(h)):
            z = _unit(self.last(b))
            return z @ z.T
        s = b @ (self.gram() if gram is None else gram) @ b.T
        scale = s.diagonal().clamp_min(EPSILON).rsqrt()
        return scale[:, None] * s * scale

    def _small_first(self, rows: int) -> bool:
        """Whether b (W'W) b' takes fewer multiplications than (W b)'(W b)."""
        width, bottleneck = self.last.out_features, self.last.in_features
        small = (width + rows) * bottleneck**2 + rows**2 * bottleneck
        return small < width * rows * (bottleneck + rows)


def gram(x: Float[Tensor, "n k"]) -> Float[Tensor, "k k"]:
    """Return x'x, whose gradient is one product where that of `x.T @ x` is two and a sum."""
    return _Gram.apply(x)  # type: ignore[no-any-return]


class _Gram(torch.autograd.Function):
    """The symmetric product; its backward is made of differentiable products, so any order works."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.T @ x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (x,), (gradient,) = ctx.saved_tensors, gradients
        return x @ (gradient + gradient.T)


def _unit(x: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    return x * x.square().sum(dim=1, keepdim=True).clamp_min(EPSILON).rsqrt()


def _linear(size: int, following: int) -> nn.Linear:
    layer = nn.Linear(size, following)
    nn.init.trunc_normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer


def _unit_rows(bottleneck: int, width: int) -> nn.Linear:
    layer = nn.Linear(bottleneck, width, bias=False)
    weight_norm(layer)
    gain = dict(layer.named_parameters())["parametrizations.weight.original0"]
    nn.init.ones_(gain)
    gain.requires_grad = False
    return layer
