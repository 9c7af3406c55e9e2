"""FRoST (ECCV 2022) with one classifier for all classes: replayed features, distilled features, classes from pairs."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from metagcd.engine.distributed import through
from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Unit, train
from metagcd.losses import class_deviations, drawn_from_classes, feature_distance
from metagcd.methods import METHODS
from metagcd.methods.classifying import Classifying, ClassifyingConfig, ClassifyingNetwork
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import make_network
from metagcd.methods.learner import Setting
from metagcd.methods.pairing import PairingConfig, pairing_loss
from metagcd.seeds import Seeds
from metagcd.types import Images, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class FrostConfig(ClassifyingConfig):
    """Eq. 3 offline; online classes from pairs, held by features that are replayed and features that are distilled."""

    pairing: PairingConfig = field(default_factory=PairingConfig)
    """The losses that find new classes; FRoST takes them from AutoNovel, with its weights."""
    self_training: float = 0.01
    """Weight of the classifier's own answers as labels, which rises as the consistency of views does; released code."""
    replay: float = 1.0
    """Weight of the cross-entropy of replayed features; released code. 0: none are drawn."""
    replayed: int = 20
    """Features that are replayed of every class at an update. Released code: 20 for CIFAR10, 2 for CIFAR100, 3 for
    Tiny-ImageNet."""
    distillation: float = 10.0
    """Weight of the squared distance to the features before the session; released code, whose distance is another."""
    online_updates: int = 20
    """Length of an online session. FRoST's is 200 epochs or more; MetaGCD's, for all rows."""
    online_unit: Unit = "update"
    """What `online_updates` counts; as for the other rows of MetaGCD's comparison."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=1e-3, schedule="constant"))
    """How an online session descends. FRoST's rate of 0.1 is that of a ResNet; MetaGCD's, for all rows."""


@dataclass(frozen=True, kw_only=True)
class Before:
    """What a session has of the time before it. All of it follows from the state it began with."""

    tail: nn.Module
    """The encoder's tail as it was."""
    means: Float[Tensor, "c d"]
    """Mean feature of every class met."""
    deviations: Float[Tensor, "c d"]
    """Standard deviation of every class met, in every dimension."""
    seeds: Seeds
    """From which features are drawn."""


@METHODS.register("frost", FrostConfig)
class Frost(Classifying[FrostConfig]):
    """FRoST: rank statistics for new classes; old ones kept by Gaussian features and feature distillation."""

    def __init__(self, config: FrostConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting)
        self.contrast = make_network(config.head, setting)
        self.network = ClassifyingNetwork(self.contrast, setting.encoder.dim, temperature=config.temperature)
        self.deviations = torch.zeros(0, setting.encoder.dim)

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Give every labelled class its mean as prototype, and measure how far its features spread."""
        super().finish_offline(labelled)
        classes = torch.as_tensor(labelled.labels).unique(return_inverse=True)[1]
        features = torch.from_numpy(self.embed(labelled.images))
        self.deviations = filled(class_deviations(features, classes, n_classes=self.n_classes))

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Add prototypes in random directions, and learn them from pairs while the old classes are replayed."""
        novel = self.open_session(unlabelled.images, n_novel, follow=False)
        config, feed = self.config, self.clusters.feed(unlabelled.images)
        self.add_random(novel, feed.seeds)
        stage = self.clusters.stage(config.online_updates, config.online_unit, config.online)
        before, steps = self._before(feed.seeds.child("replay")), stage.updates(feed)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            return session_loss(self.network, batch, before, config, steps=steps)

        train(self.network, objective, feed=feed, stage=stage)
        self.clusters.close_classified(unlabelled.images, self.network.classifier)
        self._measure(unlabelled.images)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is trained, and mean, spread and number of images of every class."""
        return {**super().state_dict(), "deviations": self.deviations.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        super().load_state_dict(state)
        self.deviations = state["deviations"].cpu().clone()

    def _before(self, seeds: Seeds) -> Before:
        """Return what the session that begins now is held to; none of it is trained."""
        tail = deepcopy(self.network.tail).requires_grad_(False).eval()
        return Before(tail=tail, means=self.statistics.means, deviations=self.deviations, seeds=seeds)

    def _measure(self, images: Images) -> None:
        """Add the spread of the session's new classes: of the images that the classifier gives to each."""
        features, known = self.embed(images), len(self.deviations)
        classes = torch.from_numpy(self.network.classifier.classify(features))
        found = class_deviations(torch.from_numpy(features), classes, n_classes=self.n_classes)
        self.deviations = filled(torch.cat([self.deviations, found[known:]]))


def session_loss(
    network: ClassifyingNetwork, batch: Batch, before: Before, config: FrostConfig, *, steps: int
) -> Float[Tensor, ""]:
    """Return what an online session of so many updates descends."""
    features = network.features(batch.tokens, len(batch.rows))
    logits, risen = network.logits(features), config.pairing.risen(batch.step, steps)
    loss = pairing_loss(features, logits, config.pairing, risen=risen)
    loss = loss + config.self_training * risen * functional.cross_entropy(logits, logits.argmax(dim=1))
    if config.replay:
        loss = loss + config.replay * replay_loss(network, before, batch.step, per_class=config.replayed)
    if config.distillation:
        with torch.no_grad():  # what the features were is a constant
            h = through(before.tail, batch.tokens, images=len(batch.rows), ranks=network.ranks)
        loss = loss + config.distillation * feature_distance(features, functional.normalize(h, dim=1))
    return loss


def replay_loss(network: ClassifyingNetwork, before: Before, step: int, *, per_class: int) -> Float[Tensor, ""]:
    """Return the cross-entropy of features drawn from the classes met before; the step decides what is drawn."""
    features, classes = drawn_from_classes(
        before.means, before.deviations, per_class=per_class, generator=before.seeds.torch(step)
    )
    logits = network.logits(features.to(network.classifier.weight))
    return functional.cross_entropy(logits, classes.to(logits.device))


def filled(deviations: Float[Tensor, "c d"]) -> Float[Tensor, "c d"]:
    """Return the deviations, classes without any (fewer than two images) having the mean of those with."""
    measured = deviations.amax(dim=1, keepdim=True) > 0
    mean = deviations.sum(dim=0) / measured.sum().clamp_min(1)
    return torch.where(measured, deviations, mean)
