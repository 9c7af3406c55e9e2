"""MetaGCD (ICCV 2023): an initialisation that has learned to discover classes without forgetting."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from metagcd.config import to_mapping
from metagcd.engine.feed import Batch
from metagcd.engine.meta import InnerLoop, Parameters
from metagcd.engine.meta_plan import MetaPlan, OuterLoop, Validation
from metagcd.engine.meta_task import Classes, MetaWork, Objectives
from metagcd.engine.meta_training import meta_train
from metagcd.engine.training import Optimisation, Stage, Unit, train
from metagcd.losses import labelled_from_similarity, supcon_from_similarity
from metagcd.methods import METHODS
from metagcd.methods.carrying import Carrying
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import HeadConfig, labelled_key
from metagcd.methods.learner import Setting
from metagcd.methods.soft_neighbourhood import NeighbourConfig, ScoredNetwork, neighbour_loss
from metagcd.models.functional import call
from metagcd.protocol import EpisodeSpec, ProtocolSpec, default_episode
from metagcd.types import LabelledSet, UnlabelledSet

PAPER_SESSIONS = 3  # of the smallest of its data sets; Table 1
ONLINE = frozenset({"online_updates", "online_unit", "online", "restarts"})  # fields that session 0 does not use


@dataclass(frozen=True, kw_only=True)
class EpisodeConfig:
    """The pseudo sequences of meta-training."""

    labelled: int = 0
    """Pseudo-labelled classes; 0: those that `novel` leaves. The paper: 4 for CIFAR10, 60 for CIFAR100, 100 for
    Tiny-ImageNet."""
    novel: tuple[int, ...] = ()
    """Pseudo-novel classes of each pseudo session; empty: three sevenths of the classes, the paper's largest share
    (CIFAR10), evenly in as many sessions as three or fewer. The paper: as online."""
    test_fraction: float = EpisodeSpec.test_fraction
    """Share of every class's images that is pseudo-test. The paper does not say; our choice."""
    warmup_fraction: float = EpisodeSpec.warmup_fraction
    """Share of a pseudo-labelled class's other images that is labelled. Our choice: that of session 0."""
    novel_fraction: float = EpisodeSpec.novel_fraction
    """Share of a pseudo-novel class's other images that comes when it is new. Our choice: that of the protocol."""

    def spec(self, classes: int) -> EpisodeSpec:
        """Return the counts and shares for so many labelled classes."""
        # More new classes than can be: what is asked for is the largest share, spread evenly over the sessions.
        usual = ProtocolSpec(known=classes, novel=(classes,) * PAPER_SESSIONS)
        novel = self.novel or default_episode(usual).novel
        return EpisodeSpec(
            labelled=self.labelled or classes - sum(novel),
            novel=novel,
            test_fraction=self.test_fraction,
            warmup_fraction=self.warmup_fraction,
            novel_fraction=self.novel_fraction,
        )


@dataclass(frozen=True, kw_only=True)
class MetaGcdConfig:
    """Algorithm 1 offline, its line 10 online."""

    balance: float = 0.35
    """Weight of the supervised loss in Eq. 3: the paper's lambda."""
    unsupervised_temperature: float = 1.0
    """Of Eq. 1 within Eq. 3. The paper does not say; released code."""
    supervised_temperature: float = 0.07
    """Of Eq. 2. The paper does not say; released code."""
    neighbours: NeighbourConfig = field(default_factory=NeighbourConfig)
    """The loss on unlabelled images, in the inner updates and online."""
    head: HeadConfig = field(default_factory=HeadConfig)
    """The projection head; dropped at evaluation."""
    meta: bool = True
    """Meta-train. Off: session 0 is learned with Eq. 3 alone, as in the paper's ablation."""
    warmup_epochs: int = 50
    """Epochs of Eq. 3 in the first meta-task, or over session 0 without meta-training; the paper."""
    warmup_epochs_later: int = 1
    """Epochs of Eq. 3 in each later meta-task. The paper does not say; our choice."""
    warmup_images: Literal["pseudo-labelled", "all"] = "pseudo-labelled"
    """Of the first meta-task: its pseudo-labelled ones (the paper), or all of session 0, for a network that does not
    start from pretrained weights. Later tasks: their pseudo-labelled ones."""
    warmup: Optimisation = field(default_factory=Optimisation)
    """How Eq. 3 descends; rate: the paper's gamma."""
    warmup_rate_later: float | None = None
    """Its rate in later meta-tasks; absent: the same (the paper)."""
    tasks: int = 100
    """Meta-tasks. The paper trains until convergence; our choice."""
    episode: EpisodeConfig = field(default_factory=EpisodeConfig)
    """The pseudo sequence of a meta-task."""
    inner: InnerLoop = field(default_factory=InnerLoop)
    """How parameters are adapted to a pseudo session."""
    outer: OuterLoop = field(default_factory=OuterLoop)
    """How the initialisation is updated."""
    validation: Validation = field(default_factory=Validation)
    """When meta-training ends early."""
    online_updates: int = 20
    """Length of an online session; the paper."""
    online_unit: Unit = "update"
    """What `online_updates` counts: the paper says gradient updates; the released code's 20 are epochs."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=1e-3, schedule="constant"))
    """How an online session descends; rate: the paper's alpha."""
    restarts: int = 10
    """Initialisations of the k-means that finds novel classes in a session."""

    def warmups(self) -> tuple[Stage, Stage]:
        """Return the warm-up of the first meta-task and that of each later one."""
        first = Stage(name="warm-up", amount=self.warmup_epochs, unit="epoch", optimisation=self.warmup)
        rate = self.warmup.rate if self.warmup_rate_later is None else self.warmup_rate_later
        later = replace(self.warmup, rate=rate, warmup=0)  # the network is no longer fresh
        return first, replace(first, amount=self.warmup_epochs_later, optimisation=later)

    def offline_key(self) -> Mapping[str, Any]:
        """Return what session 0 depends on."""
        if self.meta:
            return {"method": "metagcd"} | {k: v for k, v in to_mapping(self).items() if k not in ONLINE}
        learned = {"attention": self.neighbours.attention_width} if self.neighbours.attention == "learned" else {}
        return labelled_key(self, self.warmups()[0]) | learned


@METHODS.register("metagcd", MetaGcdConfig)
class MetaGcd(Carrying):
    """MetaGCD: an initialisation meta-trained on pseudo sessions, soft neighbourhood loss online."""

    def __init__(self, config: MetaGcdConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting, config.restarts)
        self._network = ScoredNetwork(config.neighbours, config.head, setting)

    @property
    def trained(self) -> ScoredNetwork:
        """Return tail and head, and the attention where it is learned."""
        return self._network

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Learn an initialisation (Algorithm 1), or without meta-training a representation (Eq. 3)."""
        self.clusters.start(labelled)
        work = self.work(labelled)
        if self.config.meta:
            meta_train(work)
        else:
            classes = torch.as_tensor(work.labels, device=work.feed.runtime.fabric.device)
            train(
                self._network,
                lambda batch: self._labelled_loss(batch, classes[batch.indices]),
                feed=work.feed,
                stage=work.plan.warmups[0],
                capturable=True,
            )
        self.clusters.finish(labelled)

    def work(self, labelled: LabelledSet) -> MetaWork:
        """Return what Algorithm 1 trains on these images: the network, its losses, and the plan."""
        config = self.config
        plan = MetaPlan(
            episode=config.episode.spec(len(np.unique(labelled.labels))),
            tasks=config.tasks,
            warmups=config.warmups(),
            first_on_all=config.warmup_images == "all",
            inner=config.inner,
            outer=config.outer,
            validation=config.validation,
        )
        objectives = Objectives(warm_up=self._labelled_loss, inner=self._inner_loss, outer=self._outer_loss)
        feed = self.clusters.feed(labelled.images)
        return MetaWork(
            network=self._network, objectives=objectives, plan=plan, feed=feed, labels=np.asarray(labelled.labels)
        )

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Adapt to the session and keep the result (Alg. 1, line 10)."""
        self.clusters.open_session(unlabelled.images)
        config, feed = self.config, self.clusters.feed(unlabelled.images)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            return neighbour_loss(*self._network.scored(batch.tokens, len(batch.rows)), config.neighbours)

        stage = self.clusters.stage(config.online_updates, config.online_unit, config.online)
        train(self._network, objective, feed=feed, stage=stage, capturable=True)
        self.clusters.close_session(unlabelled.images, n_novel)

    def _labelled_loss(self, batch: Batch, classes: Classes) -> Float[Tensor, ""]:
        return labelled_from_similarity(
            self._network(batch.tokens, len(batch.rows)),
            classes,
            balance=self.config.balance,
            unsupervised_temperature=self.config.unsupervised_temperature,
            supervised_temperature=self.config.supervised_temperature,
        )

    def _inner_loss(self, parameters: Parameters, batch: Batch) -> Float[Tensor, ""]:
        similarity, scores = call(self._network, parameters, batch.tokens, len(batch.rows), method="scored")
        return neighbour_loss(similarity, scores, self.config.neighbours)

    def _outer_loss(self, parameters: Parameters, batch: Batch, classes: Classes) -> Float[Tensor, ""]:
        similarity = call(self._network, parameters, batch.tokens, len(batch.rows))
        return supcon_from_similarity(similarity, classes, temperature=self.config.supervised_temperature)
