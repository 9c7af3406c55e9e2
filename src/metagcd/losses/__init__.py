"""Losses as pure functions: of the views' projections, of their similarity matrix, or of the classes' logits."""

from metagcd.losses.attention import Attention
from metagcd.losses.contrastive import (
    info_nce,
    info_nce_from_similarity,
    labelled,
    labelled_from_similarity,
    supcon,
    supcon_from_similarity,
)
from metagcd.losses.entropy import GroupEntropy, group_entropy, mean_entropy
from metagcd.losses.gaussian_replay import class_deviations, drawn_from_classes
from metagcd.losses.neighbour import (
    Positiveness,
    Weighting,
    neighbours,
    soft_neighbour,
    soft_neighbour_from_similarity,
)
from metagcd.losses.ranking import consistency, pairwise_cross_entropy, ramp, same_top
from metagcd.losses.replay import drawn_features, feature_distance, hardness, radius
from metagcd.losses.self_distillation import self_distillation, teacher_temperature

__all__ = [
    "Attention",
    "GroupEntropy",
    "Positiveness",
    "Weighting",
    "class_deviations",
    "consistency",
    "drawn_features",
    "drawn_from_classes",
    "feature_distance",
    "group_entropy",
    "hardness",
    "info_nce",
    "info_nce_from_similarity",
    "labelled",
    "labelled_from_similarity",
    "mean_entropy",
    "neighbours",
    "pairwise_cross_entropy",
    "radius",
    "ramp",
    "same_top",
    "self_distillation",
    "soft_neighbour",
    "soft_neighbour_from_similarity",
    "supcon",
    "supcon_from_similarity",
    "teacher_temperature",
]
