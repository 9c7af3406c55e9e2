"""The projection head of DINO, and its similarities without the 65536-wide product."""

from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn

from metagcd.models.wide_layer import EPSILON, unit, unit_gram, unit_products


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
        return unit(self.mlp(h))

    def project(self, h: Float[Tensor, "n dim"]) -> Float[Tensor, "n width"]:
        """Return unit rows z."""
        return unit(self.bottleneck(h) @ unit(self.last.weight).T)

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
        return unit(self.mlp(h))


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
