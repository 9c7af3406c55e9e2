"""One mean per class: classify by the nearest, and follow the encoder's drift (SDC: Yu et al., 2020)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster.lloyd import assign, cluster_sums
from metagcd.cluster.points import blocks
from metagcd.errors import InputError


def prototypes(
    features: Float[Tensor, "n d"], labels: Int[Tensor, " n"], *, n_classes: int
) -> tuple[Float[Tensor, "c d"], Int[Tensor, " c"]]:
    """Return the mean feature and the number of images of each class 0 to n_classes - 1; zeros without images."""
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < n_classes:
        raise InputError(
            f"Class ids run from {int(labels.min())} to {int(labels.max())}; they must lie in [0, {n_classes - 1}]."
        )
    sums, counts = cluster_sums(features, labels[None], n_classes)
    return sums[0] / counts[0].clamp(min=1)[:, None], counts[0].long()


def nearest(features: Float[Tensor, "n d"], means: Float[Tensor, "c d"]) -> Int[Tensor, " n"]:
    """Return the class whose mean is nearest; on unit rows the one of the largest cosine."""
    return assign(features, means[None])[0][0]


def drifted(
    means: Float[Tensor, "c d"],
    before: Float[Tensor, "n d"],
    after: Float[Tensor, "n d"],
    *,
    bandwidth: float,
) -> Float[Tensor, "c d"]:
    """Move stored means by what training did to the features around them (SDC, eqs. 7-9).

    `before` and `after` are the same images under the encoder before and after the session. Each mean moves by the
    average displacement of the images, weighted by exp(-distance^2 / (2 bandwidth^2)) between mean and `before`.

    Note: The weights are normalised over the images in the logarithm, so that a mean far from all of them follows
    the nearest instead of dividing zero by zero.
    """
    if len(before) == 0:
        return means
    weight = means.new_zeros(len(means))
    peak = means.new_full((len(means),), -torch.inf)
    moved = torch.zeros_like(means)
    for rows in blocks(len(before), len(means)):
        level = torch.cdist(means, before[rows]).square().neg() / (2 * bandwidth**2)
        top = torch.maximum(peak, level.amax(1))
        shrink, share = (peak - top).exp(), (level - top[:, None]).exp()
        weight = weight * shrink + share.sum(1)
        moved = moved * shrink[:, None] + share @ (after[rows] - before[rows])
        peak = top
    return means + moved / weight[:, None]
