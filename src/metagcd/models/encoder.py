"""An encoder: a frozen trunk whose output can be stored, and the tail that is trained."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]

from metagcd.types import InputSpec

TrunkDtype = Literal["float32", "bfloat16"]
PART = 1_600_000
"""Numbers of input that pass through a trunk at a time on a processor: ten views at 224 px, 32 at 128 px. What lies
between layers then stays in its caches; of 192 views at once, half as many pass per second (docs/performance.md)."""


@dataclass(frozen=True, kw_only=True)
class WeightsRecord:
    """Where the weights of an encoder came from; part of the run directory."""

    architecture: str
    """Name and shape of the network."""
    source: str
    """`random`, the file, or the name under which a library delivered them."""
    sha256: str = ""
    """Checksum of the file; empty where there was none."""
    tensors: str
    """Digest of all tensors of the network as it was built."""


Read = Callable[[nn.Module, Tensor], Tensor]


def run(model: nn.Module, x: Tensor) -> Tensor:
    """Return the model's own output."""
    return model(x)


class Trunk(nn.Module):
    """Run `read(model, images)` without gradient and in evaluation mode, whatever mode the encoder is in.

    Its parameters and buffers never change: no gradient reaches them and no statistic is updated.
    """

    def __init__(self, model: nn.Module, *, read: Read = run, dtype: TrunkDtype = "float32") -> None:
        super().__init__()
        self.model = model.requires_grad_(False)
        self.read = read
        self.dtype: TrunkDtype = dtype
        self.train(False)

    def train(self, mode: bool = True) -> "Trunk":
        """Stay in evaluation mode."""
        del mode
        return super().train(False)

    @torch.no_grad()  # the trunk is what is not trained
    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b ..."]:
        """Return what enters the first trained layer, in the type of the input."""
        if x.device.type != "cpu" or next(self.parameters(), None) is None:
            return self._passed(x)
        parts = x.split(max(PART // max(x[0].numel(), 1), 1)) if len(x) else (x,)
        return self._passed(x) if len(parts) == 1 else torch.cat([self._passed(part) for part in parts])

    def _passed(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b ..."]:
        if self.dtype == "float32":
            return self.read(self.model, x)
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return self.read(self.model, x).to(x.dtype)


class Tail(nn.Module):
    """Run what is trained: `read(model, stored trunk output)` is the feature.

    Batch normalisation keeps the statistics it was loaded with unless `update_statistics` is set.
    """

    def __init__(self, model: nn.Module, *, read: Read = run, update_statistics: bool = False) -> None:
        super().__init__()
        self.model = model
        self.read = read
        self.update_statistics = update_statistics
        self.train()

    def train(self, mode: bool = True) -> "Tail":
        """Set the mode; batch normalisation follows only where its statistics may move."""
        super().train(mode)
        if not self.update_statistics:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def forward(self, t: Float[Tensor, "b ..."]) -> Float[Tensor, "b d"]:
        """Return the features of stored trunk outputs, which may have been kept in 16 bits."""
        return self.read(self.model, t.to(next(self.parameters()).dtype))


class Encoder(nn.Module):
    """`embed` = `tail` after `trunk`. What trains is the tail: `encoder.tail.parameters()`."""

    def __init__(self, trunk: Trunk, tail: Tail, *, dim: int, spec: InputSpec, weights: WeightsRecord) -> None:
        super().__init__()
        self.trunk = trunk
        self.tail = tail
        self.dim = dim
        self.spec = spec
        self.weights = weights

    def embed(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """Return the features of images."""
        return self.tail(self.trunk(x))

    def forward(self, x: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
        """Return the features of images."""
        return self.embed(x)

    @property
    def weights_digest(self) -> str:
        """Name the trunk: equal digests mean equal trunk outputs. Computed anew from the tensors at each call."""
        return tensors_digest(self.trunk.state_dict(), self.weights.architecture, self.trunk.dtype)

    def network_state(self) -> dict[str, Tensor]:
        """Return trunk and tail under the network's own names, wherever it is cut."""
        return {**self.trunk.model.state_dict(), **self.tail.model.state_dict()}


def tensors_digest(tensors: Mapping[str, Tensor], *context: str) -> str:
    """Return sixteen hexadecimal digits that name these tensors, whatever their order and device."""
    total = blake2b("/".join(context).encode(), digest_size=8)
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
