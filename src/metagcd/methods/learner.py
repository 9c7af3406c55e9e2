"""What every learner offers, and what it is given to work with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from metagcd.data.views import Augmentation
from metagcd.engine.runtime import Runtime
from metagcd.methods.readout import Statistics
from metagcd.models import Encoder
from metagcd.seeds import Seeds
from metagcd.types import Array, Images, LabelledSet, UnlabelledSet


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a learner is given: the encoder, how training views are drawn, seeds, and where it runs."""

    encoder: Encoder
    seeds: Seeds
    augmentation: Augmentation = field(default_factory=Augmentation)
    runtime: Runtime = field(default_factory=Runtime)


@runtime_checkable
class Learner(Protocol):
    """A method: learns labelled classes once, then discovers classes in unlabelled batches, one session at a time."""

    readouts: tuple[str, ...]
    """How class ids can be read off it. Transductive, on all test images at once: `kmeans` clusters its features;
    `semi` does so beside the labelled classes of session 0, held in place by their statistics. Inductive, image by
    image: `prototype` takes the class with the nearest mean; `head` is the answer of its own classifier."""

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Learn from session 0."""
        ...

    def discover(self, unlabelled: UnlabelledSet, n_novel: int | None) -> None:
        """Learn from the next online session; count the novel classes when their number is not given."""
        ...

    def embed(self, images: Images) -> Float[Array, "n d"]:
        """Return unit-norm features."""
        ...

    def predict(self, images: Images) -> Int[Array, " n"]:
        """Return a class id for every image, in [0, n_classes), whatever other images there are."""
        ...

    @property
    def n_classes(self) -> int:
        """Return how many classes the learner holds there to be so far."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Return the bytes carried from session to session."""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """Return all that is carried from session to session."""
        ...

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state that `state_dict` returned."""
        ...


@runtime_checkable
class LearnsInTwo(Protocol):
    """A learner that learns session 0 in two halves, `fit_offline` being one after the other.

    The first may be that of other methods too, and is then learned once for all of them: its key is what
    `offline_key` of the config returns. A learner without halves shares all of session 0.
    """

    def fit_encoder(self, labelled: LabelledSet) -> None:
        """Learn the first half."""
        ...

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Learn from session 0 what else this method needs, after the first half was learned or taken up."""
        ...

    def encoder_state(self) -> dict[str, Tensor]:
        """Return all that the first half determines, under names that methods with an equal key agree on."""
        ...

    def load_encoder_state(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `encoder_state` returned, here or in another method with an equal key."""
        ...


@runtime_checkable
class KeepsStatistics(Protocol):
    """A learner that carries the mean of every class; the read-outs `semi` and `prototype` need it."""

    @property
    def statistics(self) -> Statistics:
        """Return mean and number of images of every class met so far, in the order they were met."""
        ...


def memory_of(state: Mapping[str, Tensor]) -> int:
    """Return the bytes of a state."""
    return sum(tensor.numel() * tensor.element_size() for tensor in state.values())
