"""Losses as pure functions of the views' projections, or of the projections' similarity matrix."""

from metagcd.losses.contrastive import (
    info_nce,
    info_nce_from_similarity,
    labelled,
    labelled_from_similarity,
    supcon,
    supcon_from_similarity,
)

__all__ = [
    "info_nce",
    "info_nce_from_similarity",
    "labelled",
    "labelled_from_similarity",
    "supcon",
    "supcon_from_similarity",
]
