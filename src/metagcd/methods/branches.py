"""Grow and Merge's two phases: what a branch that grows on candidates descends, and what merging it does."""

from copy import deepcopy
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from metagcd.cluster import kmeans
from metagcd.engine.distributed import through
from metagcd.engine.feed import Batch
from metagcd.losses import feature_distance, info_nce_from_similarity
from metagcd.methods.classifier import Classifier, random_rows
from metagcd.methods.classifying import ClassifyingNetwork
from metagcd.methods.exemplars import Exemplars
from metagcd.methods.pairing import PairingConfig, pairing_loss
from metagcd.seeds import Seeds
from metagcd.types import Array


@dataclass(frozen=True, kw_only=True)
class MergeConfig:
    """How what has grown is merged into what is kept."""

    share: float = 0.5
    """Of the grown branch in the merged weights; our choice."""
    distillation: float = 10.0
    """Weight of the squared distance to the features of the grown branch for candidates, of the old one for the other
    images. Our choice: that of FRoST."""
    replay: float = 1.0
    """Weight of the cross-entropy of exemplars; our choice. 0: none are shown."""
    pseudo_labels: float = 1.0
    """Weight of the cross-entropy of candidates, whose labels are the grown branch's; our choice."""
    updates: int = 20
    """Updates, or epochs, of the merging phase; our choice: as many as of the growing phase."""


class Branch(nn.Module):
    """The branch that grows: tail and projection head, and a classifier of the new classes alone."""

    def __init__(self, network: ClassifyingNetwork, rows: Float[Tensor, "novel d"]) -> None:
        super().__init__()
        self.network = network
        self.novel = Classifier(rows.shape[1]).to(network.classifier.weight.device)
        self.novel.grow(rows)


@dataclass(frozen=True, kw_only=True)
class Grown:
    """What merging needs of the growing phase. All of it follows from the state the session began with."""

    old: nn.Module
    """The tail before the session."""
    tail: nn.Module
    """The tail that has grown."""
    labels: Int[Tensor, " n"]
    """For each image of the session the class that the grown branch gives it; -1 where it is no candidate."""
    exemplars: Exemplars
    """Of the classes met before."""
    seeds: Seeds
    """From which exemplars are drawn."""


def growing_loss(
    branch: Branch, batch: Batch, pairing: PairingConfig, *, temperature: float, risen: float
) -> Float[Tensor, ""]:
    """Return what the branch descends on candidates: contrast between views, and pairs for the new classes."""
    network = branch.network
    h = network.embedded(batch.tokens, len(batch.rows))
    features = functional.normalize(h, dim=1)
    pairs = pairing_loss(features, branch.novel(features) / network.temperature, pairing, risen=risen)
    return info_nce_from_similarity(network.similarity(h), temperature=temperature) + pairs


def merging_loss(network: ClassifyingNetwork, batch: Batch, grown: Grown, config: MergeConfig) -> Float[Tensor, ""]:
    """Return what the merged network descends on the session's images and the exemplars."""
    images = len(batch.rows)
    features = network.features(batch.tokens, images)
    labels = grown.labels[torch.as_tensor(batch.rows)].repeat(2).to(features.device)
    with torch.no_grad():  # what is distilled is a constant
        new, old = (through(tail, batch.tokens, images=images, ranks=network.ranks) for tail in (grown.tail, grown.old))
        target = functional.normalize(torch.where(labels[:, None] >= 0, new, old), dim=1)
    loss = config.distillation * feature_distance(features, target)
    loss = loss + config.pseudo_labels * labelled_cross_entropy(network.logits(features), labels)
    if config.replay and len(grown.exemplars.classes):
        shown = grown.exemplars.drawn(images, grown.seeds.torch(batch.step))
        logits = network.logits(network.tail(shown.tokens.to(features.device)))
        loss = loss + config.replay * functional.cross_entropy(logits, shown.classes.to(features.device))
    return loss


def labelled_cross_entropy(logits: Float[Tensor, "n c"], labels: Int[Tensor, " n"]) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the rows whose label is not -1; zero where there are none."""
    total = functional.cross_entropy(logits, labels, ignore_index=-1, reduction="sum")
    return total / (labels >= 0).sum().clamp_min(1)


@torch.no_grad()
def mix(tail: nn.Module, old: nn.Module, new: nn.Module, *, share: float) -> None:
    """Put the average of two tails' parameters into the tail, `share` being that of the new one."""
    for parameter, before, after in zip(tail.parameters(), old.parameters(), new.parameters(), strict=True):
        parameter.copy_((1 - share) * before + share * after)


def frozen(tail: nn.Module) -> nn.Module:
    """Return a copy that is not trained."""
    return deepcopy(tail).requires_grad_(False).eval()


def first_rows(features: Float[Array, "n d"], novel: int, *, seeds: Seeds, restarts: int) -> Float[Tensor, "novel d"]:
    """Return where the prototypes of new classes begin: at clusters of candidates, in random directions beyond them."""
    found = min(novel, len(features))
    random = random_rows(seeds, novel - found, features.shape[1])
    if found == 0:
        return random
    clusters = kmeans(features, found, seed=seeds.integer("clusters"), restarts=restarts)
    return torch.cat([torch.as_tensor(clusters.centroids).to(random), random])
