"""Classes learned from pairs of unlabelled images, which rank statistics call equal or not (AutoNovel, ICLR 2020)."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

FLOOR = 1e-7
"""Added to a probability before its logarithm; AutoNovel's released code."""


def same_top(features: Float[Tensor, "n d"], *, k: int) -> Bool[Tensor, "n n"]:
    """Say of each pair of rows whether their `k` largest dimensions are the same ones, in whatever order."""
    if k < 1:
        raise ValueError(f"`k` must be at least 1; got {k}.")
    k = min(k, features.shape[1])
    top = torch.zeros_like(features).scatter(1, features.topk(k, dim=1).indices, 1.0)
    return top @ top.T > k - 0.5


def pairwise_cross_entropy(
    p: Float[Tensor, "n c"], q: Float[Tensor, "n c"], same: Bool[Tensor, "n n"]
) -> Float[Tensor, ""]:
    """Return -mean_ij log(p_i.q_j) where the pair is the same, log(1 - p_i.q_j) where it is not.

    p_i.q_j is the probability that both are of one class. Without rows it is zero.
    """
    if len(p) == 0:
        return p.sum()
    agree = p @ q.T
    return -torch.where(same, agree, 1 - agree).clamp_min(0).add(FLOOR).log().mean()


def consistency(p: Float[Tensor, "n c"], q: Float[Tensor, "n c"]) -> Float[Tensor, ""]:
    """Return the mean squared difference of the probabilities that two views of each image are given."""
    return functional.mse_loss(p, q)


def ramp(step: int, *, length: float) -> float:
    """Return the share of a weight that counts after so many steps: exp(-5 (1 - step / length)^2), then 1."""
    if length <= 0 or step >= length:
        return 1.0
    return math.exp(-5 * (1 - max(step, 0) / length) ** 2)
