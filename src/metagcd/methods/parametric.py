"""What learners with a prototype per class share: the network, and session 0 (SimGCD, ICCV 2023)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from metagcd.config import to_mapping
from metagcd.engine.distributed import ALONE, Ranks, ranks_of, through
from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Stage, train
from metagcd.losses import labelled_from_similarity, mean_entropy, self_distillation, teacher_temperature
from metagcd.methods.carrying import Carrying
from metagcd.methods.classifier import Classifier, random_rows
from metagcd.methods.learner import Setting
from metagcd.methods.readout import CARRIED
from metagcd.models import Encoder, Projection
from metagcd.types import Array, Images, LabelledSet


@dataclass(frozen=True, kw_only=True)
class ProjectionConfig:
    """What contrastive losses act on: the head of DINO up to its bottleneck; dropped at evaluation."""

    hidden: int = 2048
    """Width of the hidden layers; DINO, as SimGCD's released code."""
    bottleneck: int = 256
    """Width of the output; DINO, as SimGCD's released code."""


@dataclass(frozen=True, kw_only=True)
class TeacherConfig:
    """How sharp the prediction is that the other view learns."""

    first: float = 0.07
    """Temperature in the first epoch; SimGCD's released code."""
    last: float = 0.04
    """Temperature after `epochs`; SimGCD's released code."""
    epochs: int = 30
    """Over which it falls evenly; SimGCD's released code."""

    def at(self, epoch: int) -> float:
        """Return the temperature in this epoch."""
        return teacher_temperature(epoch, first=self.first, last=self.last, epochs=self.epochs)


@dataclass(frozen=True, kw_only=True)
class OfflineConfig:
    """Session 0, where all images have labels."""

    epochs: int = 100
    """Epochs over the labelled set; Happy, whose session 0 this is."""
    balance: float = 0.35
    """Weight of the two supervised losses, the rest being that of the others: SimGCD's lambda."""
    entropy_weight: float = 1.0
    """Of the mean entropy beside the self-distillation; Happy's released code (SimGCD's, with unlabelled images: 2)."""
    temperature: float = 0.1
    """Of predictions; SimGCD."""
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    """The temperature of what a view learns from the other."""
    unsupervised_temperature: float = 1.0
    """Of the contrastive loss without labels; SimGCD's released code."""
    supervised_temperature: float = 0.07
    """Of the contrastive loss with labels; SimGCD's released code."""
    optimisation: Optimisation = field(default_factory=Optimisation)
    """How it descends; SimGCD and Happy: SGD at 0.1 with a cosine schedule, 128 images a step."""

    def stage(self) -> Stage:
        """Return the stage of training."""
        return Stage(name="offline", amount=self.epochs, unit="epoch", optimisation=self.optimisation)

    def key(self, projection: ProjectionConfig) -> Mapping[str, Any]:
        """Return what the state after session 0 depends on, for learners that do just this."""
        return {"method": "labelled, parametric", "projection": to_mapping(projection), **to_mapping(self)}


class Seen(NamedTuple):
    """What the network makes of the views of a batch."""

    features: Float[Tensor, "m d"]
    """Unit rows."""
    similarity: Float[Tensor, "m m"]
    """Cosines of the projections of all pairs of views."""
    cosines: Float[Tensor, "m c"]
    """With the prototype of every class."""


class ParametricNetwork(nn.Module):
    """What is trained: the encoder's tail, and on its features a projection and a classifier beside one another."""

    def __init__(self, encoder: Encoder, config: ProjectionConfig, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self.ranks = ranks
        self.tail = encoder.tail
        self.projection = Projection(encoder.dim, hidden=config.hidden, bottleneck=config.bottleneck)
        self.classifier = Classifier(encoder.dim)

    def forward(self, tokens: Float[Tensor, "own ..."], images: int) -> Seen:
        """Return what is made of the trunk outputs of both views of so many images."""
        h = through(self.tail, tokens, images=images, ranks=self.ranks)
        z = self.projection(h)
        return Seen(functional.normalize(h, dim=1), z @ z.T, self.classifier(h))


def make_parametric(config: ProjectionConfig, setting: Setting) -> ParametricNetwork:
    """Return the network, without a class yet, on the device where training runs."""
    with setting.seeds.torch_scope("head"):
        network = ParametricNetwork(setting.encoder, config, ranks_of(setting.runtime.fabric))
    setting.encoder.to(setting.runtime.fabric.device)
    return network.to(setting.runtime.fabric.device)


class Parametric(Carrying, Protocol):
    """A learner with one prototype per class met so far, in the order they were met; `head` reads its answer out."""

    readouts: tuple[str, ...] = (*CARRIED, "head")
    network: ParametricNetwork

    @property
    def trained(self) -> ParametricNetwork:
        """Return tail, projection and classifier."""
        return self.network

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class with the most similar prototype for every image."""
        return self.network.classifier.classify(self.embed(images))

    def sized(self, classes: int) -> None:
        """Have a prototype for each of so many classes."""
        self.network.classifier.resize(classes)

    def fit_classes(self, labelled: LabelledSet, config: OfflineConfig) -> None:
        """Learn session 0: a prototype per class, and features that suit it."""
        self.clusters.start(labelled)
        network, feed = self.network, self.clusters.feed(labelled.images)
        self.sized(0)
        network.classifier.grow(random_rows(feed.seeds, self.n_classes, feed.encoder.dim))
        places = np.unique(labelled.labels, return_inverse=True)[1]
        classes = torch.as_tensor(places, device=feed.runtime.fabric.device)
        steps = feed.steps(config.optimisation.batch)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            seen = network(batch.tokens, len(batch.rows))
            rows = torch.as_tensor(batch.rows, device=classes.device)
            return offline_loss(seen, classes[rows], config, epoch=batch.step // steps)

        train(network, objective, feed=feed, stage=config.stage())
        self.clusters.finish(labelled)


def offline_loss(seen: Seen, classes: Int[Tensor, " n"], config: OfflineConfig, *, epoch: int) -> Float[Tensor, ""]:
    """Return what session 0 descends: classes and contrasts, each with and without labels (SimGCD)."""
    contrast = labelled_from_similarity(
        seen.similarity,
        classes,
        balance=config.balance,
        unsupervised_temperature=config.unsupervised_temperature,
        supervised_temperature=config.supervised_temperature,
    )
    distilled = self_distillation(
        seen.cosines, student_temperature=config.temperature, teacher_temperature=config.teacher.at(epoch)
    )
    spread = mean_entropy(seen.cosines, temperature=config.temperature)
    told = functional.cross_entropy(seen.cosines / config.temperature, classes.repeat(2))
    return contrast + (1 - config.balance) * (distilled + config.entropy_weight * spread) + config.balance * told
