"""The training step as it is written without further thought, and the sizes that a comparison shares."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import timm
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from metagcd.losses import soft_neighbour_from_similarity
from metagcd.methods.contrastive import HeadConfig
from metagcd.models.head import ProjectionHead

Steps = Callable[[int], None]
"""Take so many steps, and wait until they are done."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """The sizes of one comparison; `rows` are the 2B views of a step."""

    model: str = "vit_small_patch16_224"
    image_size: int = 224
    device: str = "cpu"
    trunk_dtype: Any = "float32"
    head: HeadConfig = field(default_factory=HeadConfig)
    rows: int = 32
    views: int = 8
    repeats: int = 5

    @property
    def cuda(self) -> bool:
        """Return whether this is about a graphics processor."""
        return self.device == "cuda"

    def autocast(self) -> Any:
        """Return the precision of a step."""
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.cuda else nullcontext()

    def wait(self) -> None:
        """Wait until all that was begun is done."""
        if self.cuda:
            torch.cuda.synchronize()


def loss(similarity: Tensor) -> Tensor:
    """Return Eq. 4 with the paper's threshold and the released code's temperature."""
    return soft_neighbour_from_similarity(similarity.float(), threshold=0.85, temperature=0.07)


class Plain(nn.Module):
    """What is written without further thought: images in, similarities out."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.model: Any = timm.create_model(case.model, num_classes=0, img_size=case.image_size)
        for block in self.model.blocks:
            block.attn.fused_attn = False
        self.model.requires_grad_(False)
        self.model.blocks[-1].requires_grad_(True)
        self.model.norm.requires_grad_(True)
        head = case.head
        self.head = ProjectionHead(
            self.model.num_features, hidden=head.hidden, bottleneck=head.bottleneck, width=head.width
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the products of all pairs of projections."""
        b = normalize(self.head.mlp(self.model(x)))
        z = normalize(b @ normalize(self.head.last.weight).T)
        return z @ z.T


def step(network: nn.Module, x: Tensor, case: Case) -> None:
    """Compute the loss and its gradients."""
    with case.autocast():
        similarity = network(x)
    loss(similarity).backward()


def reference(case: Case) -> Steps:
    """Return the step without a bank."""
    network = Plain(case).to(case.device)
    x = torch.randn(case.rows, 3, case.image_size, case.image_size).to(case.device)

    def steps(count: int) -> None:
        for _ in range(count):
            network.zero_grad()
            step(network, x, case)
        case.wait()

    return steps
