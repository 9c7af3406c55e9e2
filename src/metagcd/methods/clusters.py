"""The part that learners without a classifier share: features, how many classes there are, and the mean of each."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from metagcd.cluster import NumberOfClasses, Price, count_novel, price_of
from metagcd.engine.embedding import embed
from metagcd.engine.feed import Feed
from metagcd.engine.training import Optimisation, Stage, Unit
from metagcd.errors import InputError
from metagcd.methods.classifier import Classifier
from metagcd.methods.learner import Setting
from metagcd.methods.readout import NOTHING, Statistics, taken
from metagcd.types import Array, Images, LabelledSet


@dataclass
class Clusters:
    """What has been met so far: numbers, and the mean of every class, which follows the encoder."""

    setting: Setting
    restarts: int = 1
    """Initialisations of the k-means that finds novel classes, where `close_session` looks for them."""
    n_classes: int = 0
    session: int = 0
    statistics: Statistics = NOTHING
    price: Price | None = None
    """What merging two labelled classes would cost; novel classes are counted by it."""
    before: Float[Array, "n d"] | None = None
    """Features of the session's images from before its training."""

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

    def stage(self, amount: int, unit: Unit, optimisation: Optimisation) -> Stage:
        """Return the training of the present online session."""
        return Stage(name=f"session-{self.session}", amount=amount, unit=unit, optimisation=optimisation)

    def start(self, labelled: LabelledSet) -> None:
        """Take note of the labelled classes of session 0."""
        if len(labelled.images) == 0:
            raise InputError("The labelled set is empty.")
        self.n_classes, self.session = len(np.unique(labelled.labels)), 0

    def finish(self, labelled: LabelledSet) -> None:
        """Keep the mean of every labelled class, under the encoder as session 0 leaves it."""
        features, labels = self.embed(labelled.images), np.asarray(labelled.labels)
        self.statistics = taken(features, labels)
        self.price = price_of(features, labels, seed=self.setting.seeds.integer("price"))

    def open_session(self, images: Images | None = None) -> None:
        """Move on to the next online session, whose training will move these images; none where nothing is trained."""
        if self.n_classes == 0:
            raise InputError("`discover` needs a learner that has been fitted offline.")
        self.session += 1
        self.before = None if images is None else self.embed(images)

    def open_measured(self, images: Images, *, follow: bool) -> Float[Array, "n d"]:
        """Move on to the next online session; return what its images are before training, and let means follow it."""
        self.open_session()
        features = self.embed(images)
        self.before = features if follow else None
        return features

    def novel_among(self, features: Float[Array, "n d"], n_novel: int | None) -> int:
        """Return how many novel classes the images of a session bring, counted when their number is not given."""
        return self.counted(features).k if n_novel is None else n_novel

    def close_session(self, images: Images, n_novel: int | None) -> None:
        """Let the means follow the encoder and add the novel classes, counted when their number is not given."""
        features = self._followed(images)
        n_novel = self.novel_among(features, n_novel)
        seed = self.setting.seeds.integer("novel", self.session)
        self.statistics = self.statistics.joined(features, n_novel, seed=seed, restarts=self.restarts)
        self.n_classes += n_novel

    def close_classified(self, images: Images, classifier: Classifier) -> None:
        """Let the means follow the encoder, and give each class that the classifier has more that of its images."""
        features = self._followed(images)
        rows = classifier.weight.detach().cpu().float()
        self.statistics = self.statistics.assigned(features, classifier.classify(features), rows)
        self.n_classes = classifier.classes

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features."""
        return embed(self.feed(images))

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class with the nearest mean for every image."""
        return self.statistics.classify(self.embed(images))

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is carried on: two numbers, mean and number of images of every class, the price."""
        return {
            "n_classes": torch.tensor(self.n_classes),
            "session": torch.tensor(self.session),
            "means": self.statistics.means.clone(),
            "counts": self.statistics.counts.clone(),
            "price": torch.tensor([] if self.price is None else astuple(self.price), dtype=torch.float64),
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what was carried on."""
        self.n_classes, self.session = int(state["n_classes"]), int(state["session"])
        self.statistics = Statistics(state["means"].cpu().clone(), state["counts"].cpu().clone())
        price = state["price"].tolist() if "price" in state else []
        self.price = Price(*price) if price else None

    def _followed(self, images: Images) -> Float[Array, "n d"]:
        """Return the session's features under the encoder as it is now, to which the means have moved."""
        features = self.embed(images)
        if self.before is not None:
            self.statistics, self.before = self.statistics.moved(self.before, features), None
        return features

    def counted(self, features: Float[Array, "n d"]) -> NumberOfClasses:
        """Count the novel classes of a session, in which known classes may be missing."""
        if self.price is None:
            raise InputError("This state cannot count novel classes; give their number, or learn session 0 anew.")
        seed, known = self.setting.seeds.integer("count", self.session), self.statistics
        return count_novel(features, known.means.numpy(), known.counts.numpy(), self.price, seed=seed)
