"""A classifier that grows: one row of weights for every class met so far."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from metagcd.seeds import Seeds
from metagcd.types import Array


class Classifier(nn.Module):
    """The cosine of a feature with the prototype of every class, in the order in which the classes were met.

    It begins without any class. Rows are added by value, so that who adds them decides where a class starts.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(0, dim))

    @property
    def classes(self) -> int:
        """Return how many classes it tells apart."""
        return len(self.weight)

    def forward(self, features: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the cosines, each in [-1, 1]."""
        return functional.normalize(features, dim=1) @ functional.normalize(self.weight, dim=1).T

    def grow(self, rows: Float[Tensor, "new d"]) -> None:
        """Add one prototype per new class; an optimiser made before does not know of them."""
        self.weight = nn.Parameter(torch.cat([self.weight.detach(), rows.detach().to(self.weight)]))

    def resize(self, classes: int) -> None:
        """Have rows for so many classes, the first ones as they are and further ones zero: to be loaded."""
        self.grow(self.weight.new_zeros(max(classes - self.classes, 0), self.weight.shape[1]))
        self.weight = nn.Parameter(self.weight.detach()[:classes])

    @torch.no_grad()
    def classify(self, features: Float[Array, "n d"]) -> Int[Array, " n"]:
        """Return the class of the largest cosine."""
        return self(torch.from_numpy(features).to(self.weight)).argmax(dim=1).cpu().numpy()


def random_rows(seeds: Seeds, classes: int, dim: int) -> Float[Tensor, "c d"]:
    """Return unit rows in random directions."""
    return functional.normalize(torch.randn(classes, dim, generator=seeds.torch("classifier", classes)), dim=1)
