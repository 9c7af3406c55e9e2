"""The one cross-entropy between views that every loss here is, and the pairs its targets are made of."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def cross_entropy(
    similarity: Float[Tensor, "m m"], target: Float[Tensor, "m m"], *, temperature: float
) -> Float[Tensor, ""]:
    """Return -mean_i sum_j target_ij log p(j|i), p(j|i) = softmax over j != i of similarity_ij / temperature.

    The target of a view for itself counts for nothing; a row of zeros contributes zero.
    """
    check_positive("temperature", temperature)
    same = itself(similarity)
    log_p = (similarity / temperature).masked_fill(same, -torch.inf).log_softmax(dim=1)
    return -(target * log_p.masked_fill(same, 0)).sum(dim=1).mean()


def itself(similarity: Float[Tensor, "m m"]) -> Bool[Tensor, "m m"]:
    """Return the pairs of a view with itself."""
    return torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)


def siblings(similarity: Float[Tensor, "m m"]) -> Bool[Tensor, "m m"]:
    """Return the pairs of two views of one image, view 1 being stacked on view 2."""
    views = len(similarity)
    if views == 0 or views % 2:
        raise ValueError(f"View 1 is stacked on view 2, so their number must be even and positive; got {views} rows.")
    return itself(similarity).roll(views // 2, dims=1)


def cosines(z: Float[Tensor, "m d"]) -> Float[Tensor, "m m"]:
    """Return the similarity of all pairs of unit rows."""
    return z @ z.T


def check_positive(name: str, value: float) -> None:
    """Refuse a temperature that is not above zero."""
    if not value > 0:
        raise ValueError(f"`{name}` must be above 0; got {value}.")


def check_share(name: str, value: float) -> None:
    """Refuse a share outside [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` must be in [0, 1]; got {value}.")
