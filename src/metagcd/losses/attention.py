"""The learned form of the positiveness scores (MetaGCD, Eq. 6)."""

from jaxtyping import Float
from torch import Tensor, nn


class Attention(nn.Module):
    """Score pairs of rows by f1(z_i).f2(z_j), f1 and f2 linear and learned.

    Rows of any width will do. With a projection tens of thousands wide, give it the head's bottleneck
    rows. The paper found the identity to be better.
    """

    def __init__(self, dim: int, *, width: int) -> None:
        super().__init__()
        self.f1 = nn.Linear(dim, width, bias=False)
        self.f2 = nn.Linear(dim, width, bias=False)

    def forward(self, z: Float[Tensor, "m dim"]) -> Float[Tensor, "m m"]:
        """Return the scores of all pairs, for `Positiveness(scores=...)`."""
        return self.f1(z) @ self.f2(z).T
