"""VanillaGCD in its sequential form: the paper's baseline row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Stage, Unit, train
from metagcd.losses import info_nce_from_similarity, labelled_from_similarity
from metagcd.methods import METHODS
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import HeadConfig, labelled_key, load_network, make_network, network_state
from metagcd.methods.learner import Setting, memory_of
from metagcd.methods.readout import CARRIED, Statistics
from metagcd.types import Array, Images, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class GcdConfig:
    """Contrastive training: labelled offline (Eq. 3), without labels online (Eq. 1)."""

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
    online_updates: int = 20
    """Length of an online session; the paper."""
    online_unit: Unit = "update"
    """What `online_updates` counts: the paper says gradient updates; the released code's 20 are epochs."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=1e-3, schedule="constant"))
    """How an online session descends; rate: the paper's alpha."""
    restarts: int = 10
    """Initialisations of the k-means that finds novel classes in a session."""

    def stage(self) -> Stage:
        """Return the offline stage."""
        return Stage(name="offline", amount=self.offline_epochs, unit="epoch", optimisation=self.offline)

    def offline_key(self) -> Mapping[str, Any]:
        """Return what session 0 depends on."""
        return labelled_key(self, self.stage())


@METHODS.register("gcd", GcdConfig)
class Gcd:
    """VanillaGCD: labelled contrastive training offline (Eq. 3), InfoNCE online (Eq. 1)."""

    readouts = CARRIED

    def __init__(self, config: GcdConfig, setting: Setting) -> None:
        self.config = config
        self._clusters = Clusters(setting, config.restarts)
        self._network = make_network(config.head, setting)

    @property
    def n_classes(self) -> int:
        """Return how many classes were met."""
        return self._clusters.n_classes

    @property
    def statistics(self) -> Statistics:
        """Return what is kept of every class."""
        return self._clusters.statistics

    @property
    def memory_bytes(self) -> int:
        """Return the bytes of tail, head and class means."""
        return memory_of(self.state_dict())

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Train with Eq. 3."""
        self._clusters.start(labelled)
        config, feed = self.config, self._clusters.feed(labelled.images)
        labels = torch.as_tensor(labelled.labels, device=feed.runtime.fabric.device)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            return labelled_from_similarity(
                self._network(batch.tokens, len(batch.rows)),
                labels[torch.as_tensor(batch.rows, device=labels.device)],
                balance=config.balance,
                unsupervised_temperature=config.unsupervised_temperature,
                supervised_temperature=config.supervised_temperature,
            )

        train(self._network, objective, feed=feed, stage=config.stage())
        self._clusters.finish(labelled)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Train with Eq. 1; weights are carried on from the last session."""
        self._clusters.open_session(unlabelled.images)
        config, feed = self.config, self._clusters.feed(unlabelled.images)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            similarity = self._network(batch.tokens, len(batch.rows))
            return info_nce_from_similarity(similarity, temperature=config.unsupervised_temperature)

        stage = Stage(
            name=f"session-{self._clusters.session}",
            amount=config.online_updates,
            unit=config.online_unit,
            optimisation=config.online,
        )
        train(self._network, objective, feed=feed, stage=stage)
        self._clusters.close_session(unlabelled.images, n_novel)

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features of the encoder; the head is dropped."""
        return self._clusters.embed(images)

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class with the nearest mean for every image."""
        return self._clusters.predict(images)

    def state_dict(self) -> dict[str, Tensor]:
        """Return tail, head, and what is kept of the classes."""
        return {**network_state(self._network), **self._clusters.state_dict()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        load_network(self._network, state)
        self._clusters.load_state_dict(state)
