"""What contrastive learners share: an encoder's tail under a projection head, its state, and session 0 by Eq. 3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from metagcd.config import to_mapping
from metagcd.engine.distributed import ALONE, Ranks, ranks_of, through
from metagcd.engine.feed import Batch
from metagcd.engine.training import Optimisation, Stage, train
from metagcd.losses import labelled_from_similarity
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import Setting
from metagcd.models import Encoder, ProjectionHead
from metagcd.types import LabelledSet


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """The projection head of DINO."""

    hidden: int = 2048
    """Width of the hidden layers; DINO."""
    bottleneck: int = 256
    """Width before the last layer; DINO."""
    width: int = 65536
    """Outputs of the weight-normalised last layer; DINO."""


class Network(nn.Module):
    """What is trained: the encoder's tail and the projection head."""

    def __init__(self, encoder: Encoder, config: HeadConfig, ranks: Ranks = ALONE) -> None:
        super().__init__()
        self.ranks = ranks
        self.tail = encoder.tail
        self.head = ProjectionHead(encoder.dim, hidden=config.hidden, bottleneck=config.bottleneck, width=config.width)

    def forward(self, tokens: Float[Tensor, "own ..."], images: int | None = None) -> Float[Tensor, "n n"]:
        """Return the cosine similarities of the projections of trunk outputs.

        Processes that share a batch say how many images it has, and get the similarities of all its views.
        """
        return self.head.similarity(through(self.tail, tokens, images=images or len(tokens) // 2, ranks=self.ranks))


def make_network(config: HeadConfig, setting: Setting) -> Network:
    """Return the network on the device where training runs; its head is drawn from the setting's seeds."""
    with setting.seeds.torch_scope("head"):
        network = Network(setting.encoder, config, ranks_of(setting.runtime.fabric))
    setting.encoder.to(setting.runtime.fabric.device)
    return network.to(setting.runtime.fabric.device)


def network_state(network: nn.Module) -> dict[str, Tensor]:
    """Return the network's tensors under names of their own."""
    return {f"network.{name}": tensor.detach().clone() for name, tensor in network.state_dict().items()}


def load_network(network: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Put tensors that `network_state` returned back into the network."""
    prefix = "network."
    network.load_state_dict({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})


def labelled_key(config: Any, stage: Stage) -> dict[str, Any]:
    """Return all that Eq. 3 alone over session 0 depends on; learners that do just that have the same state after it.

    `config` holds the values of Eq. 3 and the head under the names that these learners share.
    """
    names = ("balance", "unsupervised_temperature", "supervised_temperature")
    return {
        "method": "labelled contrastive (Eq. 3)",
        **{name: getattr(config, name) for name in names},
        "head": to_mapping(config.head),
        "amount": stage.amount,
        "unit": stage.unit,
        "optimisation": to_mapping(stage.optimisation),
    }


@dataclass(frozen=True, kw_only=True)
class ContrastiveConfig:
    """Labelled contrastive training over session 0 (Eq. 3)."""

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

    def stage(self) -> Stage:
        """Return the offline stage."""
        return Stage(name="offline", amount=self.offline_epochs, unit="epoch", optimisation=self.offline)

    def offline_key(self) -> Mapping[str, Any]:
        """Return what tail, projection head and class means after this stage depend on."""
        return labelled_key(self, self.stage())


def fit_contrastive(network: Network, config: ContrastiveConfig, labelled: LabelledSet, clusters: Clusters) -> None:
    """Train with Eq. 3, and keep the class means."""
    clusters.start(labelled)
    feed = clusters.feed(labelled.images)
    labels = torch.as_tensor(labelled.labels, device=feed.runtime.fabric.device)

    def objective(batch: Batch) -> Float[Tensor, ""]:
        return labelled_from_similarity(
            network(batch.tokens, len(batch.rows)),
            labels[batch.indices],
            balance=config.balance,
            unsupervised_temperature=config.unsupervised_temperature,
            supervised_temperature=config.supervised_temperature,
        )

    train(network, objective, feed=feed, stage=config.stage(), capturable=True)
    clusters.finish(labelled)
