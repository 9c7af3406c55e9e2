"""One diagonal Gaussian per class in the place of its images (FRoST, ECCV 2022)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

FLOOR = 1e-5
"""Added to a variance before its root; FRoST's released code."""


def class_deviations(
    features: Float[Tensor, "n d"], classes: Int[Tensor, " n"], *, n_classes: int
) -> Float[Tensor, "c d"]:
    """Return the standard deviation of every class in every dimension; zeros for a class of fewer than two images."""
    member = torch.nn.functional.one_hot(classes.long(), n_classes).to(features.dtype)
    counts = member.sum(dim=0)[:, None]
    means = member.T @ features / counts.clamp_min(1)
    squares = member.T @ (features - means[classes.long()]).square()
    return torch.where(counts > 1, (squares / (counts - 1).clamp_min(1) + FLOOR).sqrt(), 0)


def drawn_from_classes(
    means: Float[Tensor, "c d"], deviations: Float[Tensor, "c d"], *, per_class: int, generator: torch.Generator
) -> tuple[Float[Tensor, "m d"], Int[Tensor, " m"]]:
    """Return as many features from the Gaussian of every class, and the class of each."""
    classes = torch.arange(len(means)).repeat_interleave(per_class)
    noise = torch.randn(len(classes), means.shape[1], generator=generator, dtype=means.dtype)
    return means[classes] + deviations[classes] * noise, classes
