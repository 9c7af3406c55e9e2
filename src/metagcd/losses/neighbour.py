"""The soft neighbourhood contrastive loss on unlabelled views (MetaGCD, Eqs. 4-6)."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from metagcd.losses._cross_entropy import check_positive, cosines, cross_entropy, itself, siblings

Weighting = Literal["outside", "inside"]
"""Where the positiveness w stands: w log p (the authors' released code), or log(w p) as Eq. 4 is printed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Positiveness:
    """How much a candidate neighbour counts as a positive (Eq. 6)."""

    weights: Literal["soft", "hard"] = "soft"
    """Softmax over the candidates, or 1 for each of them (candidate neighbours without softness)."""
    temperature: float = 1.0
    """Inside the softmax; 1 is the paper. Below 1 spreads the weights more."""
    detach: bool = False
    """Hold the weights constant. In an inner update this changes the meta-gradient."""
    scores: Float[Tensor, "m m"] | None = None
    """f1(z_i).f2(z_j), such as `Attention` returns; absent: f1 and f2 are the identity, so the similarity."""


SOFT = Positiveness()
"""The paper's choice: identity f1 and f2, temperature 1."""


def soft_neighbour(
    z: Float[Tensor, "m d"],
    *,
    threshold: float,
    temperature: float,
    weighting: Weighting = "outside",
    include_sibling: bool = True,
    positiveness: Positiveness = SOFT,
) -> Float[Tensor, ""]:
    """Tell the views that look alike, each by its positiveness, from all other views (Eqs. 4-6).

    `z` holds unit rows, view 1 stacked on view 2. The candidates of a view are the others whose cosine
    with it is at least `threshold`, and with `include_sibling` the other view of its image, however far.
    Who is a candidate is a constant of the gradient; how much it counts is not. A view without
    candidates contributes zero, and is counted in the mean.

    Note: Eq. 5 does not add the sibling.
    """
    return soft_neighbour_from_similarity(
        cosines(z),
        threshold=threshold,
        temperature=temperature,
        weighting=weighting,
        include_sibling=include_sibling,
        positiveness=positiveness,
    )


def soft_neighbour_from_similarity(
    similarity: Float[Tensor, "m m"],
    *,
    threshold: float,
    temperature: float,
    weighting: Weighting = "outside",
    include_sibling: bool = True,
    positiveness: Positiveness = SOFT,
) -> Float[Tensor, ""]:
    """Return `soft_neighbour` (Eqs. 4-6) of the views that have this similarity matrix."""
    candidates = neighbours(similarity, threshold=threshold, include_sibling=include_sibling)
    share = candidates / candidates.sum(dim=1, keepdim=True).clamp_min(1).to(similarity.dtype)
    log_w = log_positiveness(similarity, candidates, positiveness)
    match weighting:
        case "outside":
            return cross_entropy(similarity, share * log_w.exp(), temperature=temperature)
        case "inside":
            return cross_entropy(similarity, share, temperature=temperature) - (share * log_w).sum(dim=1).mean()
        case _:
            raise ValueError(f"`weighting` must be outside or inside; got {weighting}.")


def neighbours(
    similarity: Float[Tensor, "m m"], *, threshold: float, include_sibling: bool = True
) -> Bool[Tensor, "m m"]:
    """Return for each view its candidate neighbours NN(i), never itself (Eq. 5)."""
    if not -1 <= threshold <= 1:
        raise ValueError(f"`threshold` must be in [-1, 1]; got {threshold}.")
    sibling = siblings(similarity)
    near = (similarity >= threshold).masked_fill(itself(similarity), value=False)
    return near | sibling if include_sibling else near


def log_positiveness(
    similarity: Float[Tensor, "m m"], candidates: Bool[Tensor, "m m"], positiveness: Positiveness = SOFT
) -> Float[Tensor, "m m"]:
    """Return log w_ij, w_i being the softmax over NN(i) divided by its largest value (Eq. 6); 0 outside NN(i).

    The denominators cancel: log w_ij = (score_ij - max over NN(i) of score_i) / temperature.
    """
    check_positive("positiveness.temperature", positiveness.temperature)
    if positiveness.weights == "hard":
        return torch.zeros_like(similarity)
    scores = similarity if positiveness.scores is None else positiveness.scores
    if positiveness.detach:
        scores = scores.detach()  # asked for: w is then a constant of the gradient
    top = scores.masked_fill(~candidates, -torch.inf).amax(dim=1, keepdim=True)
    return ((scores - top) / positiveness.temperature).masked_fill(~candidates, 0)
