"""What learners share whose encoder learns session 0 by Eq. 3, and which have a classifier on top of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from metagcd.engine.distributed import through
from metagcd.methods.carrying import Carrying
from metagcd.methods.classifier import Classifier, random_rows
from metagcd.methods.contrastive import ContrastiveConfig, Network, fit_contrastive, load_network, network_state
from metagcd.methods.readout import CARRIED
from metagcd.seeds import Seeds
from metagcd.types import Array, Images, LabelledSet


@dataclass(frozen=True, kw_only=True)
class ClassifyingConfig(ContrastiveConfig):
    """Eq. 3 over session 0, and a classifier of cosines."""

    temperature: float = 0.1
    """Of the classifier's cosines. The publication's classifier is linear, without one; our choice, that of SimGCD."""


class ClassifyingNetwork(nn.Module):
    """What is trained online: the encoder's tail and the classifier, and with `contrasts` the projection head."""

    def __init__(self, contrast: Network, dim: int, *, temperature: float, contrasts: bool = False) -> None:
        super().__init__()
        self.ranks, self.temperature = contrast.ranks, temperature
        self.tail = contrast.tail
        self.classifier = Classifier(dim).to(next(contrast.parameters()).device)
        self.head = contrast.head if contrasts else None

    def embedded(self, tokens: Float[Tensor, "own ..."], images: int) -> Float[Tensor, "n d"]:
        """Return the features of both views of so many images."""
        return through(self.tail, tokens, images=images, ranks=self.ranks)

    def features(self, tokens: Float[Tensor, "own ..."], images: int) -> Float[Tensor, "n d"]:
        """Return them as unit rows."""
        return functional.normalize(self.embedded(tokens, images), dim=1)

    def similarity(self, features: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
        """Return the cosines of the projections of all pairs of features."""
        if self.head is None:
            raise TypeError("This network has no projection head; make it with `contrasts`.")
        return self.head.similarity(features)

    def logits(self, features: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the classifier's cosines over its temperature."""
        return self.classifier(features) / self.temperature


C = TypeVar("C", bound=ClassifyingConfig)


class Classifying(Carrying, Protocol[C]):
    """A learner that classifies; class ids of new classes follow those of the classes met before.

    What derives from it sets `config`, `clusters`, `contrast` and `network`, and writes `discover`.
    """

    readouts: tuple[str, ...] = (*CARRIED, "head")
    config: C
    contrast: Network
    """Tail and projection head: what Eq. 3 trains."""
    network: ClassifyingNetwork

    @property
    def trained(self) -> ClassifyingNetwork:
        """Return what is trained online, and carried on."""
        return self.network

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Train the encoder with Eq. 3, and let the classifier start at the class means."""
        self.fit_encoder(labelled)
        self.finish_offline(labelled)

    def fit_encoder(self, labelled: LabelledSet) -> None:
        """Train with Eq. 3."""
        fit_contrastive(self.contrast, self.config, labelled, self.clusters)

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Give every labelled class its mean as prototype."""
        del labelled  # the first half has taken the means
        self.sized(0)
        self.network.classifier.grow(self.statistics.means)

    def encoder_state(self) -> dict[str, Tensor]:
        """Return tail, projection head and class means."""
        return {**network_state(self.contrast), **self.clusters.state_dict()}

    def load_encoder_state(self, state: Mapping[str, Tensor]) -> None:
        """Take up tail, projection head and class means."""
        self.clusters.load_state_dict(state)
        load_network(self.contrast, state)

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return the class with the most similar prototype for every image."""
        return self.network.classifier.classify(self.embed(images))

    def sized(self, classes: int) -> None:
        """Have a prototype for each of so many classes."""
        self.network.classifier.resize(classes)

    def open_session(self, images: Images, n_novel: int | None, *, follow: bool) -> int:
        """Begin the next online session; return how many novel classes it brings, counted where that is not given."""
        features = self.clusters.open_measured(images, follow=follow)
        return self.clusters.novel_among(features, n_novel)

    def add_random(self, novel: int, seeds: Seeds) -> None:
        """Add a prototype in a random direction for each novel class."""
        classifier = self.network.classifier
        classifier.grow(random_rows(seeds, novel, classifier.weight.shape[1]))
