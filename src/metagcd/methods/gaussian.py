"""One Gaussian per class, the encoder frozen after session 0, and a mixture with new ones on every session.

The idea of VB-CGCD (ICML 2025) and Freeze-and-Cluster: what is learned after session 0 is a classifier, no feature.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from metagcd.cluster import prototypes
from metagcd.cluster.gaussians import Gaussians, Whitening, gaussians, mixture, whitening
from metagcd.errors import InputError
from metagcd.methods import METHODS
from metagcd.methods.clusters import Clusters
from metagcd.methods.contrastive import ContrastiveConfig, make_network
from metagcd.methods.frozen_after import FrozenAfter
from metagcd.methods.learner import Setting
from metagcd.methods.readout import CARRIED, Statistics, grouped
from metagcd.types import Array, Images, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class GaussianConfig(ContrastiveConfig):
    """Eq. 3 over session 0, then a frozen encoder: one regularised Gaussian per class, a mixture on the stream."""

    dimensions: int = 384
    """Principal components that are kept, fewer where features have fewer; VB-CGCD."""
    strength: float = 100.0
    """Images scattered like the average class that every covariance is put together with; our choice."""
    rounds: int = 30
    """Rounds of expectation and maximisation in a session; our choice."""
    restarts: int = 10
    """Initialisations of the k-means that new classes start from; our choice."""

    def __post_init__(self) -> None:
        """Refuse values that describe no Gaussian."""
        if self.dimensions < 1 or self.strength <= 0 or self.rounds < 0:
            raise InputError(
                "`dimensions` must be at least 1, `strength` above 0 and `rounds` not negative; got "
                f"{self.dimensions}, {self.strength} and {self.rounds}."
            )


@METHODS.register("gaussian", GaussianConfig)
class Gaussian(FrozenAfter):
    """One Gaussian per class, the encoder frozen after session 0; a mixture with new ones on every session."""

    readouts = (*CARRIED, "head")

    def __init__(self, config: GaussianConfig, setting: Setting) -> None:
        self.config = self.session_0 = config
        self.clusters = Clusters(setting, config.restarts)
        self.network = make_network(config.head, setting)
        nothing = torch.zeros(0, 0, dtype=torch.float64)
        self._space = Whitening(nothing[0:0].sum(0), nothing)
        self._classes = Gaussians(nothing, nothing[None][:0])

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Take the Gaussian of every class, in a space where classes scatter alike in every direction."""
        features = torch.from_numpy(self.embed(labelled.images))
        _, places = torch.as_tensor(labelled.labels).unique(return_inverse=True)
        self._space = whitening(features, places, dimensions=self.config.dimensions)
        shares = torch.nn.functional.one_hot(places, self.n_classes).double()
        self._classes = gaussians(self._space(features), shares, strength=self.config.strength)

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Find the new Gaussians of a mixture in which the old ones stay as they are."""
        clusters = self.clusters
        clusters.open_session()
        features = self.embed(unlabelled.images)
        novel = clusters.novel_among(features, n_novel)
        if novel:
            x = self._space(torch.from_numpy(features))
            config, start = self.config, self._start(x, novel)
            found = mixture(x, self._classes, start, rounds=config.rounds, strength=config.strength)
            self._classes = self._classes.joined(found)
            clusters.statistics = _with_shares(clusters.statistics, features, self._classes.log_density(x))
        clusters.n_classes += novel

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class of the largest density for every image."""
        x = self._space(torch.from_numpy(self.embed(images)))
        return self._classes.log_density(x).argmax(dim=1).numpy()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the network and what is kept of the classes: means, Gaussians, and the space of these."""
        own = {
            "space.centre": self._space.centre,
            "space.axes": self._space.axes,
            "gaussians.means": self._classes.means,
            "gaussians.factors": self._classes.factors,
        }
        return {**super().state_dict(), **{name: tensor.clone() for name, tensor in own.items()}}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        super().load_state_dict(state)
        self._space = Whitening(state["space.centre"].cpu().clone(), state["space.axes"].cpu().clone())
        self._classes = Gaussians(state["gaussians.means"].cpu().clone(), state["gaussians.factors"].cpu().clone())

    def _start(self, x: Float64[Tensor, "n p"], novel: int) -> Float64[Tensor, "new p"]:
        """Return the centres of the groups that semi-supervised k-means finds beside the classes that are there."""
        known = Statistics(self._classes.means.float(), self.statistics.counts)
        seed = self.clusters.setting.seeds.integer("novel", self.clusters.session)
        classes = self.n_classes + novel
        found = grouped(x.float().numpy(), known, classes, seed=seed, restarts=self.config.restarts)
        return prototypes(x, torch.as_tensor(np.asarray(found.labels)), n_classes=classes)[0][self.n_classes :]


def _with_shares(old: Statistics, features: Float[Array, "n d"], level: Float64[Tensor, "n c"]) -> Statistics:
    """Return the statistics with the new classes' means, each image counting by its share in a class."""
    shares = level.softmax(dim=1)[:, len(old.means) :].float()
    weight = shares.sum(0)
    means = shares.T @ torch.from_numpy(features) / weight.clamp(min=torch.finfo(weight.dtype).tiny)[:, None]
    counts = weight.round().long().clamp(min=1)
    return Statistics(torch.cat([old.means, means]), torch.cat([old.counts, counts]))
