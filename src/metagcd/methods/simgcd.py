"""SimGCD (ICCV 2023) in a continual form: a prototype per class, learned from the model's own sharpened predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float
from torch import Tensor

from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Unit, train
from metagcd.losses import info_nce_from_similarity, mean_entropy, self_distillation
from metagcd.methods import METHODS
from metagcd.methods.classifier import random_rows
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting
from metagcd.methods.parametric import (
    OfflineConfig,
    Parametric,
    ProjectionConfig,
    Seen,
    TeacherConfig,
    make_parametric,
)
from metagcd.types import LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class SimGcdConfig:
    """A cosine classifier that grows with every session; SimGCD's losses without labels online."""

    offline: OfflineConfig = field(default_factory=OfflineConfig)
    """Session 0."""
    projection: ProjectionConfig = field(default_factory=ProjectionConfig)
    """What the contrastive losses act on."""
    temperature: float = 0.1
    """Of predictions; SimGCD."""
    teacher: TeacherConfig = field(default_factory=lambda: TeacherConfig(epochs=5))
    """The temperature of what a view learns from the other; SimGCD's, over its share of the epochs (30 of 200)."""
    entropy_weight: float = 2.0
    """Of the mean entropy beside the self-distillation; SimGCD's released code."""
    unsupervised_temperature: float = 1.0
    """Of the contrastive loss; SimGCD's released code."""
    online_updates: int = 30
    """Length of an online session; that of Happy, as SimGCD has no sessions."""
    online_unit: Unit = "epoch"
    """What `online_updates` counts; Happy."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=0.01))
    """How an online session descends; Happy."""

    def offline_key(self) -> Mapping[str, Any]:
        """Return what session 0 depends on."""
        return self.offline.key(self.projection)


@METHODS.register("simgcd", SimGcdConfig)
class SimGcd(Parametric):
    """SimGCD, continual: a growing cosine classifier, self-distillation between views, mean-entropy maximisation."""

    def __init__(self, config: SimGcdConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting)
        self.network = make_parametric(config.projection, setting)

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Learn a prototype for each labelled class."""
        self.fit_classes(labelled, self.config.offline)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Add prototypes in random directions, and let predictions teach one another."""
        images, config, network = unlabelled.images, self.config, self.network
        before = self.clusters.open_measured(images, follow=True)
        novel, feed = self.clusters.novel_among(before, n_novel), self.clusters.feed(images)
        network.classifier.grow(random_rows(feed.seeds, novel, feed.encoder.dim))
        steps = feed.steps(config.online.batch)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            return unoffline_loss(network(batch.tokens, len(batch.rows)), config, epoch=batch.step // steps)

        train(
            network,
            objective,
            feed=feed,
            stage=self.clusters.stage(config.online_updates, config.online_unit, config.online),
        )
        self.clusters.close_classified(images, network.classifier)


def unoffline_loss(seen: Seen, config: SimGcdConfig, *, epoch: int) -> Float[Tensor, ""]:
    """Return what an online session descends: SimGCD without its two losses that need labels."""
    distilled = self_distillation(
        seen.cosines, student_temperature=config.temperature, teacher_temperature=config.teacher.at(epoch)
    )
    spread = mean_entropy(seen.cosines, temperature=config.temperature)
    contrast = info_nce_from_similarity(seen.similarity, temperature=config.unsupervised_temperature)
    return distilled + config.entropy_weight * spread + contrast
