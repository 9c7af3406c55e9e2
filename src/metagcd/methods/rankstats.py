"""RankStats (AutoNovel; ICLR 2020, TPAMI 2021) with one classifier for all classes, online on unlabelled images."""

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Unit, train
from metagcd.methods import METHODS
from metagcd.methods.classifying import Classifying, ClassifyingConfig, ClassifyingNetwork
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import make_network
from metagcd.methods.learner import Setting
from metagcd.methods.pairing import PairingConfig, pairing_loss
from metagcd.types import UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class RankStatsConfig(ClassifyingConfig):
    """Eq. 3 offline; online pairs of images that rank statistics call equal, and consistency of views."""

    pairing: PairingConfig = field(default_factory=PairingConfig)
    """The losses on unlabelled images."""
    online_updates: int = 20
    """Length of an online session. AutoNovel's is 200 epochs or more, with labelled images; MetaGCD's, for all rows."""
    online_unit: Unit = "update"
    """What `online_updates` counts; as for the other rows of MetaGCD's comparison."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=1e-3, schedule="constant"))
    """How an online session descends. AutoNovel's rate of 0.1 is that of a ResNet; MetaGCD's, for all rows."""


@METHODS.register("rankstats", RankStatsConfig)
class RankStats(Classifying[RankStatsConfig]):
    """RankStats: one classifier, new classes from pairs of images with the same largest feature dimensions."""

    def __init__(self, config: RankStatsConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting)
        self.contrast = make_network(config.head, setting)
        self.network = ClassifyingNetwork(self.contrast, setting.encoder.dim, temperature=config.temperature)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Add prototypes in random directions, and learn them from pairs of images."""
        novel = self.open_session(unlabelled.images, n_novel, follow=True)
        config, feed = self.config, self.clusters.feed(unlabelled.images)
        self.add_random(novel, feed.seeds)
        stage = self.clusters.stage(config.online_updates, config.online_unit, config.online)
        steps = stage.updates(feed)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            features = self.network.features(batch.tokens, len(batch.rows))
            risen = config.pairing.risen(batch.step, steps)
            return pairing_loss(features, self.network.logits(features), config.pairing, risen=risen)

        train(self.network, objective, feed=feed, stage=stage)
        self.clusters.close_classified(unlabelled.images, self.network.classifier)
