"""Session 0 by Eq. 3, as several methods learn it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Stage, train
from metagcd.losses import labelled_from_similarity
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import HeadConfig, Network, labelled_key
from metagcd.types import LabelledSet


@dataclass(frozen=True, kw_only=True)
class LabelledConfig:
    """Labelled contrastive training over session 0 (Eq. 3)."""

    balance: float = 0.35
    """Weight of the supervised loss in Eq. 3: the paper's lambda."""
    unsupervised_temperature: float = 1.0
    """Of Eq. 1. The paper does not say; released code."""
    supervised_temperature: float = 0.07
    """Of Eq. 2. The paper does not say; released code."""
    head: HeadConfig = field(default_factory=HeadConfig)
    """The projection head; dropped at evaluation."""
    offline_epochs: int = 50
    """Epochs over the labelled set; the paper's warm-up."""
    offline: Optimisation = field(default_factory=Optimisation)
    """How the offline stage descends."""

    def stage(self) -> Stage:
        """Return the offline stage."""
        return Stage(name="offline", amount=self.offline_epochs, unit="epoch", optimisation=self.offline)

    def offline_key(self) -> Mapping[str, Any]:
        """Return what tail, projection head and class means after this stage depend on."""
        return labelled_key(self, self.stage())


def fit_labelled(network: Network, config: LabelledConfig, labelled: LabelledSet, clusters: Clusters) -> None:
    """Train with Eq. 3, and keep the class means."""
    clusters.start(labelled)
    feed = clusters.feed(labelled.images)
    labels = torch.as_tensor(labelled.labels, device=feed.runtime.fabric.device)

    def objective(batch: Batch) -> Float[Tensor, ""]:
        return labelled_from_similarity(
            network(batch.tokens, len(batch.rows)),
            labels[batch.indices],
            balance=config.balance,
            unsupervised_temperature=config.unsupervised_temperature,
            supervised_temperature=config.supervised_temperature,
        )

    train(network, objective, feed=feed, stage=config.stage(), capturable=True)
    clusters.finish(labelled)
