"""Grow and Merge (NeurIPS 2022): a branch grows on what looks new, and is merged into the one that is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster import novelty, upper_group
from metagcd.data.rows import select
from metagcd.engine.feed import Batch, Feed
from metagcd.engine.training import Optimisation, Unit, train
from metagcd.methods import METHODS
from metagcd.methods.branches import Branch, Grown, MergeConfig, first_rows, frozen, growing_loss, merging_loss, mix
from metagcd.methods.classifying import Classifying, ClassifyingConfig, ClassifyingNetwork
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import make_network
from metagcd.methods.exemplars import NONE, Exemplars, nearest_to_means
from metagcd.methods.learner import Setting
from metagcd.methods.pairing import PairingConfig
from metagcd.methods.readout import Statistics
from metagcd.types import Array, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class GmConfig(ClassifyingConfig):
    """Eq. 3 offline; online a phase of growing on candidates for new classes, and one of merging."""

    pairing: PairingConfig = field(default_factory=PairingConfig)
    """The losses by which the new classes are told apart while a branch grows; the values are AutoNovel's."""
    merge: MergeConfig = field(default_factory=MergeConfig)
    """The merging phase."""
    exemplars: int = 20
    """Images kept of every class, as trunk outputs. Grow and Merge keeps exemplars; their number is our choice."""
    online_updates: int = 20
    """Length of the growing phase; MetaGCD's of an online session, for all rows."""
    online_unit: Unit = "update"
    """What the lengths of both phases count; as for the other rows of MetaGCD's comparison."""
    online: Optimisation = field(default_factory=lambda: Optimisation(rate=1e-3, schedule="constant"))
    """How both phases descend; MetaGCD's, for all rows."""
    restarts: int = 10
    """Initialisations of the k-means of candidates that new prototypes begin at."""


@METHODS.register("gm", GmConfig)
class Gm(Classifying[GmConfig]):
    """Grow and Merge: a branch learns what looks new, and is merged with the one before; exemplars are kept."""

    def __init__(self, config: GmConfig, setting: Setting) -> None:
        self.config = config
        self.clusters = Clusters(setting)
        self.contrast = make_network(config.head, setting)
        dim, temperature = setting.encoder.dim, config.temperature
        self.network = ClassifyingNetwork(self.contrast, dim, temperature=temperature, contrasts=True)
        self.exemplars = NONE

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Give every labelled class its mean as prototype, and keep exemplars of it."""
        super().finish_offline(labelled)
        classes, self.exemplars = np.unique(labelled.labels, return_inverse=True)[1], NONE
        self._keep(self.clusters.feed(labelled.images), self.embed(labelled.images), classes, range(self.n_classes))

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Grow on the candidates for new classes, merge what has grown, and keep exemplars of the new classes."""
        images, known = unlabelled.images, self.n_classes
        novel = self.open_session(images, n_novel, follow=True)
        feed = self.clusters.feed(images)
        if novel:
            self._learn(feed, novel)
        self.clusters.close_classified(images, self.network.classifier)
        features = self.embed(images)
        self._keep(feed, features, self.network.classifier.classify(features), range(known, self.n_classes))

    def candidates(self, features: Float[Array, "n d"]) -> Int[Array, " m"]:
        """Return the rows of the images that are far from every class met, by the best parting of all into two."""
        scores = novelty(torch.from_numpy(features), self.statistics.means)
        return np.flatnonzero(upper_group(scores).numpy())

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is trained, what is kept of the classes, and the exemplars."""
        return {**super().state_dict(), **self.exemplars.state_dict()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        super().load_state_dict(state)
        self.exemplars = Exemplars.of(state)

    def _learn(self, feed: Feed, novel: int) -> None:
        """Grow on candidates and merge; without a candidate, the new classes begin anywhere."""
        features = self.embed(feed.images)
        rows, old = self.candidates(features), frozen(self.network.tail)
        beginning = first_rows(features[rows], novel, seeds=feed.seeds, restarts=self.config.restarts)
        if len(rows) == 0:
            self.network.classifier.grow(beginning)
            return
        found = replace(feed, images=select(feed.images, rows))
        branch = self._grow(found, Branch(self.network, beginning))
        ids = branch.novel.classify(self.embed(found.images))
        labels = torch.full((len(features),), -1)
        labels[torch.from_numpy(rows)] = self.n_classes + torch.from_numpy(ids)
        seeds = feed.seeds.child("exemplars")
        grown = Grown(old=old, tail=frozen(self.network.tail), labels=labels, exemplars=self.exemplars, seeds=seeds)
        mix(self.network.tail, old, grown.tail, share=self.config.merge.share)
        self.network.classifier.grow(means_of(self.embed(found.images), ids, branch.novel.weight.detach().cpu()))
        self._merge(feed, grown)

    def _grow(self, candidates: Feed, branch: Branch) -> Branch:
        """Train the branch on the candidates."""
        config = self.config
        stage = self.clusters.stage(config.online_updates, config.online_unit, config.online)
        steps = stage.updates(candidates)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            risen, temperature = config.pairing.risen(batch.step, steps), config.unsupervised_temperature
            return growing_loss(branch, batch, config.pairing, temperature=temperature, risen=risen)

        train(branch, objective, feed=candidates, stage=replace(stage, name=f"{stage.name}-grow"))
        return branch

    def _merge(self, feed: Feed, grown: Grown) -> None:
        """Train the merged network on all images of the session."""
        config = self.config
        stage = self.clusters.stage(config.merge.updates, config.online_unit, config.online)

        def objective(batch: Batch) -> Float[Tensor, ""]:
            return merging_loss(self.network, batch, grown, config.merge)

        train(self.network, objective, feed=feed, stage=replace(stage, name=f"{stage.name}-merge"))

    def _keep(self, feed: Feed, features: Float[Array, "n d"], classes: Int[Array, " n"], wanted: range) -> None:
        """Keep those images of the wanted classes that are nearest to their means."""
        rows, chosen = nearest_to_means(features, classes, wanted, count=self.config.exemplars)
        self.exemplars = self.exemplars.joined(feed, rows, chosen)


def means_of(features: Float[Array, "n d"], ids: Int[Array, " n"], rows: Float[Tensor, "c d"]) -> Float[Tensor, "c d"]:
    """Return the mean of the images given to each class; its unit row where there are none."""
    nothing = Statistics(rows[:0], torch.zeros(0, dtype=torch.int64))
    return nothing.assigned(features, ids, rows).means
