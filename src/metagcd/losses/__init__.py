"""Losses as pure functions of the views' projections, or of the projections' similarity matrix."""

from metagcd.losses.attention import Attention
from metagcd.losses.contrastive import (
    info_nce,
    info_nce_from_similarity,
    labelled,
    labelled_from_similarity,
    supcon,
    supcon_from_similarity,
)
from metagcd.losses.neighbour import (
    Positiveness,
    Weighting,
    neighbours,
    soft_neighbour,
    soft_neighbour_from_similarity,
)

__all__ = [
    "Attention",
    "Positiveness",
    "Weighting",
    "info_nce",
    "info_nce_from_similarity",
    "labelled",
    "labelled_from_similarity",
    "neighbours",
    "soft_neighbour",
    "soft_neighbour_from_similarity",
    "supcon",
    "supcon_from_similarity",
]
