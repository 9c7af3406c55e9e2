"""What MetaGCD descends on unlabelled images: the soft neighbourhood loss, and the network that answers it."""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from metagcd.engine.distributed import through
from metagcd.losses import (
    Attention,
    Positiveness,
    Weighting,
    info_nce_from_similarity,
    soft_neighbour_from_similarity,
)
from metagcd.methods.contrastive import HeadConfig, make_network
from metagcd.methods.learner import Setting


@dataclass(frozen=True, kw_only=True)
class NeighbourConfig:
    """Eqs. 4-6: who is a candidate neighbour, and how much it counts."""

    threshold: float = 0.85
    """Least cosine of a candidate; the paper's epsilon."""
    temperature: float = 0.07
    """Of Eq. 4. The paper does not say; released code."""
    weighting: Weighting = "outside"
    """w log p (released code) or, as Eq. 4 is printed, log(w p)."""
    include_sibling: bool = True
    """Count the other view of an image as a candidate, however far; Eq. 5 does not."""
    weights: Literal["soft", "hard"] = "soft"
    """Positiveness by softmax (Eq. 6), or 1 for every candidate (the paper's ablation)."""
    softness: float = 1.0
    """Temperature inside the softmax of Eq. 6; 1 is the paper. Below 1 spreads the weights more."""
    attention: Literal["identity", "learned"] = "identity"
    """f1 and f2 of Eq. 6; the paper found the identity better."""
    attention_width: int = 128
    """Outputs of learned f1 and f2. The paper does not say; our choice."""
    unsupervised_weight: float = 0.0
    """Weight of Eq. 1 beside Eq. 4, whose own is the rest: 0 is the paper, 0.65 the released code."""
    unsupervised_temperature: float = 1.0
    """Of Eq. 1 beside Eq. 4. The paper does not say; released code."""


class ScoredNetwork(nn.Module):
    """The network, and beside it the attention that scores pairs of views where it is learned."""

    def __init__(self, config: NeighbourConfig, head: HeadConfig, setting: Setting) -> None:
        super().__init__()
        network = make_network(head, setting)
        self.tail, self.head, self.ranks = network.tail, network.head, network.ranks
        self.attention: Attention | None = None
        if config.attention == "learned":
            with setting.seeds.torch_scope("attention"):
                self.attention = Attention(head.bottleneck, width=config.attention_width)
            self.attention.to(setting.runtime.fabric.device)

    def forward(self, tokens: Float[Tensor, "own ..."], images: int) -> Float[Tensor, "n n"]:
        """Return the cosine similarities of the projections of trunk outputs, of a batch of so many images."""
        return self.head.similarity(through(self.tail, tokens, images=images, ranks=self.ranks))

    def scored(
        self, tokens: Float[Tensor, "own ..."], images: int
    ) -> tuple[Float[Tensor, "n n"], Float[Tensor, "n n"] | None]:
        """Return the similarities, and the scores f1.f2 of all pairs where they are learned."""
        h = through(self.tail, tokens, images=images, ranks=self.ranks)
        scores = None if self.attention is None else self.attention(self.head.bottleneck(h))
        return self.head.similarity(h), scores


def neighbour_loss(
    similarity: Float[Tensor, "m m"], scores: Float[Tensor, "m m"] | None, config: NeighbourConfig
) -> Float[Tensor, ""]:
    """Return Eq. 4, with as much of Eq. 1 as the config asks for."""
    soft = soft_neighbour_from_similarity(
        similarity,
        threshold=config.threshold,
        temperature=config.temperature,
        weighting=config.weighting,
        include_sibling=config.include_sibling,
        positiveness=Positiveness(weights=config.weights, temperature=config.softness, scores=scores),
    )
    share = config.unsupervised_weight
    if not share:
        return soft
    unsupervised = info_nce_from_similarity(similarity, temperature=config.unsupervised_temperature)
    return (1 - share) * soft + share * unsupervised
