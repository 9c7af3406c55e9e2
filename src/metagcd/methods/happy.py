"""Happy (NeurIPS 2024): SimGCD's classifier, kept from favouring old classes and from forgetting the hard ones."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from metagcd.cluster import kmeans
from metagcd.engine.distributed import through
from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Unit, train
from metagcd.errors import InputError
from metagcd.losses import (
    drawn_features,
    feature_distance,
    group_entropy,
    hardness,
    info_nce_from_similarity,
    radius,
    self_distillation,
)
from metagcd.methods import METHODS
from metagcd.methods.classifier import Classifier
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting
from metagcd.methods.parametric import (
    OfflineConfig,
    Parametric,
    ParametricNetwork,
    ProjectionConfig,
    Seen,
    TeacherConfig,
    make_parametric,
)
from metagcd.seeds import Seeds
from metagcd.types import Array, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class EntropyWeights:
    """Of the three entropies that keep classes, and groups of them, from going without images."""

    between: float = 1.0
    """All old classes against all new ones; Happy's released command lines."""
    old: float = 1.0
    """Among the old classes; Happy's released command lines."""
    new: float = 1.0
    """Among the new classes; Happy's released command lines."""


@dataclass(frozen=True, kw_only=True)
class ReplayConfig:
    """Features drawn around the means of the classes met before, for the classifier to tell apart."""

    weight: float = 1.0
    """Of their cross-entropy; Happy. 0: none are drawn."""
    hardness_temperature: float = 0.1
    """Of the softmax over mean similarities that classes are drawn by; Happy. Large: all equally often."""
    radius_scale: float = 1.0
    """Times the stored radius; Happy's released command lines."""


@dataclass(frozen=True, kw_only=True)
class HappyConfig:
    """SimGCD's session 0; online new prototypes from clusters, entropy in groups, replayed features, distillation."""

    offline: OfflineConfig = field(default_factory=OfflineConfig)
    """Session 0."""
    projection: ProjectionConfig = field(default_factory=ProjectionConfig)
    """What the contrastive losses act on."""
    temperature: float = 0.1
    """Of predictions; Happy."""
    teacher: TeacherConfig = field(default_factory=lambda: TeacherConfig(first=0.05, last=0.05, epochs=10))
    """The temperature of what a view learns from the other; Happy's released command lines."""
    entropy: EntropyWeights = field(default_factory=EntropyWeights)
    """Entropy in groups."""
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    """What stands in for images of the classes met before."""
    distillation_weight: float = 1.0
    """Of the squared distance to the features before the session; Happy. 0: none."""
    unsupervised_temperature: float = 1.0
    """Of the contrastive loss; Happy's released code."""
    online_updates: int = 30
    """Length of an online session; Happy."""
    online_unit: Unit = "epoch"
    """What `online_updates` counts; Happy."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=0.01))
    """How an online session descends; Happy: SGD at 0.01 with a cosine schedule, 128 images a step."""
    restarts: int = 10
    """Initialisations of the k-means that new prototypes begin at. Our choice; released code: 1 of scikit-learn's."""

    def offline_key(self) -> Mapping[str, Any]:
        """Return what session 0 depends on."""
        return self.offline.key(self.projection)


@dataclass(frozen=True, kw_only=True)
class Before:
    """What a session has of the time before it. All of it follows from the state it began with."""

    tail: nn.Module
    """The encoder's tail as it was."""
    means: Float[Tensor, "c d"]
    """Mean feature of every class met."""
    radius: float
    """The spread of features about them."""
    seeds: Seeds
    """From which features are drawn."""


@METHODS.register("happy", HappyConfig)
class Happy(Parametric):
    """Happy: new prototypes from clusters, entropy in groups of classes, replayed features of classes hard to tell."""

    def __init__(self, config: HappyConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting)
        self.network = make_parametric(config.projection, setting)
        self.radius = torch.zeros(())

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Learn a prototype for each labelled class; keep mean features and their spread."""
        self.fit_encoder(labelled)
        self.finish_offline(labelled)

    def fit_encoder(self, labelled: LabelledSet) -> None:
        """Learn what SimGCD learns, and nothing else."""
        self.fit_classes(labelled, self.config.offline)

    def finish_offline(self, labelled: LabelledSet) -> None:  # noqa: ARG002 - the means say all
        """Keep how far features spread about the class means."""
        self.radius = radius(self.statistics.means)

    def encoder_state(self) -> dict[str, Tensor]:
        """Return the state that SimGCD would have."""
        return super().state_dict()

    def load_encoder_state(self, state: Mapping[str, Tensor]) -> None:
        """Take up the state of SimGCD."""
        super().load_state_dict(state)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Add prototypes at clusters unlike the old ones; learn them without losing the old ones."""
        images, config, network = unlabelled.images, self.config, self.network
        features = self.clusters.open_measured(images, follow=False)
        novel, feed = self.clusters.novel_among(features, n_novel), self.clusters.feed(images)
        rows, seed = network.classifier.weight.detach().cpu(), feed.seeds.integer("clusters")
        network.classifier.grow(new_rows(features, rows, novel, seed=seed, restarts=config.restarts))
        before, steps = self._before(feed.seeds.child("replay")), feed.steps(config.online.batch)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            return session_loss(network, batch, before, config, epoch=batch.step // steps)

        stage = self.clusters.stage(config.online_updates, config.online_unit, config.online)
        train(network, objective, feed=feed, stage=stage)
        self.clusters.close_classified(images, network.classifier)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is trained, what is kept of the classes, and the spread of their features."""
        return {**super().state_dict(), "radius": self.radius.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        super().load_state_dict(state)
        self.radius = state["radius"].cpu().clone()

    def _before(self, seeds: Seeds) -> Before:
        """Return what the session that begins now is held to; none of it is trained."""
        tail = deepcopy(self.network.tail).requires_grad_(False).eval()
        return Before(tail=tail, means=self.statistics.means, radius=float(self.radius), seeds=seeds)


def session_loss(
    network: ParametricNetwork, batch: Batch, before: Before, config: HappyConfig, *, epoch: int
) -> Float[Tensor, ""]:
    """Return what an online session descends."""
    seen = network(batch.tokens, len(batch.rows))
    loss = unoffline_loss(seen, len(before.means), config, epoch=epoch)
    if config.replay.weight:
        loss = loss + config.replay.weight * replay_loss(network.classifier, batch, before, config)
    if config.distillation_weight:
        with torch.no_grad():  # what the features were is a constant
            h = through(before.tail, batch.tokens, images=len(batch.rows), ranks=network.ranks)
        loss = loss + config.distillation_weight * feature_distance(seen.features, functional.normalize(h, dim=1))
    return loss


def unoffline_loss(seen: Seen, old: int, config: HappyConfig, *, epoch: int) -> Float[Tensor, ""]:
    """Return the losses of the session's own images: distillation between views, entropies in groups, contrast."""
    distilled = self_distillation(
        seen.cosines, student_temperature=config.temperature, teacher_temperature=config.teacher.at(epoch)
    )
    lacking, weight = group_entropy(seen.cosines, old, temperature=config.temperature), config.entropy
    spread = weight.between * lacking.between + weight.old * lacking.old + weight.new * lacking.new
    contrast = info_nce_from_similarity(seen.similarity, temperature=config.unsupervised_temperature)
    return distilled + spread + contrast


def replay_loss(classifier: Classifier, batch: Batch, before: Before, config: HappyConfig) -> Float[Tensor, ""]:
    """Return the cross-entropy of as many drawn features as the batch has views; the step decides what is drawn."""
    features, classes = drawn_features(
        before.means,
        hardness(before.means, temperature=config.replay.hardness_temperature),
        radius=before.radius * config.replay.radius_scale,
        count=2 * len(batch.rows),
        generator=before.seeds.torch(batch.step),
    )
    cosines = classifier(features.to(classifier.weight))
    return functional.cross_entropy(cosines / config.temperature, classes.to(cosines.device))


def new_rows(
    features: Float[Array, "n d"], rows: Float[Tensor, "c d"], novel: int, *, seed: int, restarts: int
) -> Float[Tensor, "novel d"]:
    """Return where new prototypes begin: of as many clusters as classes, the centres least similar to the old rows."""
    if novel > len(features):
        raise InputError(f"Cannot find {novel} novel classes among {len(features)} images.")
    if novel == 0:
        return rows[:0]
    clusters = kmeans(features, min(len(rows) + novel, len(features)), seed=seed, restarts=restarts)
    centres = functional.normalize(torch.as_tensor(clusters.centroids).to(rows), dim=1)
    nearest = (centres @ functional.normalize(rows, dim=1).T).amax(dim=1)
    return centres[nearest.argsort(stable=True)[:novel]]
