"""VanillaGCD in its sequential form: the paper's baseline row."""

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Unit, train
from metagcd.losses import info_nce_from_similarity
from metagcd.methods import METHODS
from metagcd.methods.carrying import Carrying
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import ContrastiveConfig, Network, fit_contrastive, make_network
from metagcd.methods.learner import Setting
from metagcd.types import LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class GcdConfig(ContrastiveConfig):
    """Contrastive training: labelled offline (Eq. 3), without labels online (Eq. 1)."""

    online_updates: int = 20
    """Length of an online session; the paper."""
    online_unit: Unit = "update"
    """What `online_updates` counts: the paper says gradient updates; the released code's 20 are epochs."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=1e-3, schedule="constant"))
    """How an online session descends; rate: the paper's alpha."""
    restarts: int = 10
    """Initialisations of the k-means that finds novel classes in a session."""


@METHODS.register("gcd", GcdConfig)
class Gcd(Carrying):
    """VanillaGCD: labelled contrastive training offline (Eq. 3), InfoNCE online (Eq. 1)."""

    def __init__(self, config: GcdConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting, config.restarts)
        self._network = make_network(config.head, setting)

    @property
    def trained(self) -> Network:
        """Return tail and head."""
        return self._network

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Train with Eq. 3."""
        fit_contrastive(self._network, self.config, labelled, self.clusters)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Train with Eq. 1; weights are carried on from the last session."""
        self.clusters.open_session(unlabelled.images)
        config, feed = self.config, self.clusters.feed(unlabelled.images)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            similarity = self._network(batch.tokens, len(batch.rows))
            return info_nce_from_similarity(similarity, temperature=config.unsupervised_temperature)

        stage = self.clusters.stage(config.online_updates, config.online_unit, config.online)
        train(self._network, objective, feed=feed, stage=stage, capturable=True)
        self.clusters.close_session(unlabelled.images, n_novel)
