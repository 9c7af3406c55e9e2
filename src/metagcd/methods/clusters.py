"""The part that learners without a classifier share: features, how many classes there are, and k-means over them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster import kmeans
from metagcd.engine.embedding import embed
from metagcd.engine.feed import Feed
from metagcd.errors import InputError
from metagcd.methods.learner import Setting
from metagcd.types import Array, Images, LabelledSet


@dataclass
class Clusters:
    """What has been met so far, and class ids by k-means over the features."""

    setting: Setting
    restarts: int
    n_classes: int = 0
    session: int = 0

    def feed(self, images: Images) -> Feed:
        """Return the images as the present session's training and evaluation see them."""
        setting = self.setting
        return Feed(
            images=images,
            encoder=setting.encoder,
            augmentation=setting.augmentation,
            seeds=setting.seeds.child("session", self.session),
            runtime=setting.runtime,
        )

    def start(self, labelled: LabelledSet) -> None:
        """Take note of the labelled classes of session 0."""
        if len(labelled.images) == 0:
            raise InputError("The labelled set is empty.")
        self.n_classes, self.session = len(np.unique(labelled.labels)), 0

    def open_session(self) -> None:
        """Move on to the next online session."""
        if self.n_classes == 0:
            raise InputError("`discover` needs a learner that has been fitted offline.")
        self.session += 1

    def close_session(self, images: Images, n_novel: int | None) -> None:
        """Add the novel classes; count them in the features of the session when their number is not given."""
        if n_novel is None:
            n_novel = self._counted(images) - self.n_classes
        self.n_classes += n_novel

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features."""
        return embed(self.feed(images))

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the cluster of every image among as many clusters as classes were met."""
        seed = self.setting.seeds.integer("predict", self.session)
        found = kmeans(self.embed(images), self.n_classes, seed=seed, restarts=self.restarts)
        return np.asarray(found.labels, dtype=np.int64)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the two numbers that are carried on."""
        return {"n_classes": torch.tensor(self.n_classes), "session": torch.tensor(self.session)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take the two numbers up again."""
        self.n_classes, self.session = int(state["n_classes"]), int(state["session"])

    def _counted(self, images: Images) -> int:
        """Estimate the classes of a session in which all known classes are taken to appear."""
        from metagcd.cluster import estimate_classes

        high = min(2 * self.n_classes + 10, len(images) - 1)
        seed = self.setting.seeds.integer("count", self.session)
        return estimate_classes(self.embed(images), low=self.n_classes, high=max(high, self.n_classes), seed=seed).k
