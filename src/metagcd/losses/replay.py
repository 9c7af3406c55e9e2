"""What holds classes without images: features drawn around their means, and features kept where they were (Happy)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from metagcd.losses._cross_entropy import check_positive


def hardness(means: Float[Tensor, "c d"], *, temperature: float) -> Float[Tensor, " c"]:
    """Return how often each class is drawn: softmax of its mean cosine with the other classes / temperature.

    A class that resembles the others is easily taken for one of them, so it is drawn more often.
    """
    check_positive("temperature", temperature)
    unit = functional.normalize(means, dim=1)
    cosines = (unit @ unit.T).fill_diagonal_(0)
    return (cosines.sum(dim=1) / max(len(means) - 1, 1) / temperature).softmax(dim=0)


def radius(means: Float[Tensor, "c d"]) -> Float[Tensor, ""]:
    """Return the spread that all classes share, from the means of their unit-norm features: r^2 = mean of tr(cov) / d.

    The trace of a class's covariance is the mean squared norm, here 1, less the squared norm of the mean.
    """
    if 0 in means.shape:
        raise ValueError(f"The spread needs the mean of a class; got {tuple(means.shape)}.")
    return ((1 - means.square().sum(dim=1)).clamp_min(0).mean() / means.shape[1]).sqrt()


def drawn_features(
    means: Float[Tensor, "c d"],
    frequency: Float[Tensor, " c"],
    *,
    radius: float,
    count: int,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "count d"], Int[Tensor, " count"]]:
    """Return so many features from N(unit mean, radius^2 I), and the class of each, drawn by frequency."""
    classes = torch.multinomial(frequency, count, replacement=True, generator=generator)
    noise = torch.randn(count, means.shape[1], generator=generator, dtype=means.dtype)
    return functional.normalize(means, dim=1)[classes] + radius * noise, classes


def feature_distance(features: Float[Tensor, "m d"], before: Float[Tensor, "m d"]) -> Float[Tensor, ""]:
    """Return the mean squared distance to what the features were."""
    return (features - before).square().sum(dim=1).mean()
