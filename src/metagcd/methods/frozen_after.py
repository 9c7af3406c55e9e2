"""What learners share whose encoder learns session 0 by Eq. 3 and is frozen then."""

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from metagcd.methods.carrying import Carrying
from metagcd.methods.contrastive import ContrastiveConfig, Network, fit_contrastive
from metagcd.types import LabelledSet


class FrozenAfter(Carrying, Protocol):
    """A learner that learns session 0 in two halves: the encoder as `gcd` does, then what it keeps of the classes.

    What derives from it sets `session_0`, `clusters` and `network`, and writes `finish_offline` and `discover`. Without
    offline epochs the encoder stays as it comes.
    """

    session_0: ContrastiveConfig
    network: Network

    @property
    def trained(self) -> Network:
        """Return tail and head."""
        return self.network

    def fit_offline(self, labelled: LabelledSet) -> None:
        """Learn both halves."""
        self.fit_encoder(labelled)
        self.finish_offline(labelled)

    def fit_encoder(self, labelled: LabelledSet) -> None:
        """Train with Eq. 3, and keep the class means."""
        fit_contrastive(self.network, self.session_0, labelled, self.clusters)

    def finish_offline(self, labelled: LabelledSet) -> None:
        """Learn what this method keeps of the classes."""
        ...

    def encoder_state(self) -> dict[str, Tensor]:
        """Return tail, head and class means."""
        return Carrying.state_dict(self)

    def load_encoder_state(self, state: Mapping[str, Tensor]) -> None:
        """Take up tail, head and class means."""
        Carrying.load_state_dict(self, state)
