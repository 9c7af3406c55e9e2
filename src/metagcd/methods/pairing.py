"""The part that learners share which learn classes from pairs of images: rank statistics and consistency of views."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from metagcd.losses import consistency, pairwise_cross_entropy, ramp, same_top


@dataclass(frozen=True, kw_only=True)
class PairingConfig:
    """How pairs of unlabelled images are judged, and how firmly both views of an image are to agree."""

    top: int = 5
    """Largest dimensions of a feature that must be the same ones in a pair; AutoNovel's k."""
    consistency_weight: float = 5.0
    """Weight of the consistency of views at the end of its rise. AutoNovel's released code: 5 for CIFAR10, 25 for
    CIFAR100 with one classifier over all classes, 50 for SVHN."""
    rise: float = 0.25
    """Share of the session over which that weight rises. AutoNovel's released code: 50 of 200 epochs for CIFAR10, 300
    of 400 for CIFAR100."""

    def risen(self, step: int, steps: int) -> float:
        """Return how much of the weight counts at an update among so many."""
        return ramp(step, length=self.rise * steps)


def pairing_loss(
    features: Float[Tensor, "two_n d"], logits: Float[Tensor, "two_n c"], config: PairingConfig, *, risen: float
) -> Float[Tensor, ""]:
    """Return AutoNovel's losses on unlabelled images, of which view 1 is stacked on view 2.

    Pairs are judged by the features of view 1, and predicted from view 1 of the one and view 2 of the other.
    """
    first, second = logits.softmax(dim=1).tensor_split(2)
    judged = features.detach().tensor_split(2)[0]  # ranks have no gradient
    pairs = pairwise_cross_entropy(first, second, same_top(judged, k=config.top))
    return pairs + risen * config.consistency_weight * consistency(first, second)
