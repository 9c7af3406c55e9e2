"""Which points are far from all that is known."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


def novelty(features: Float[Tensor, "n d"], means: Float[Tensor, "c d"]) -> Float[Tensor, " n"]:
    """Return one less the largest cosine with any mean; two, the most there is, where there is no mean."""
    if len(means) == 0:
        return features.new_full((len(features),), 2.0)
    return 1 - (functional.normalize(features, dim=1) @ functional.normalize(means, dim=1).T).amax(dim=1)


def upper_group(scores: Float[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Say which scores are in the upper of two groups, parted where they differ most between groups (Otsu, 1979).

    Equal scores stay together; where all are equal, there is no upper group.
    """
    ordered = scores.double().sort().values
    lower = torch.arange(len(ordered), dtype=ordered.dtype, device=ordered.device)[1:]
    sums, upper = ordered.cumsum(dim=0)[:-1], len(ordered) - lower
    difference = (ordered.sum() - sums) / upper - sums / lower
    between = (lower * upper * difference.square()).masked_fill(ordered.diff() <= 0, -1.0)
    if len(between) == 0 or between.max() < 0:
        return torch.zeros_like(scores, dtype=torch.bool)
    return scores.double() > ordered[between.argmax()]
