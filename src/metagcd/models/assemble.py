"""From a timm network that holds its weights to an encoder."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from metagcd.models.cut import cut, first_trained
from metagcd.models.encoder import Encoder, Tail, Trunk, TrunkDtype, WeightsRecord, run
from metagcd.models.vit_tail import fold_last_block, foldable
from metagcd.types import InputSpec


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a network is divided and run; the fields are explained where a config has them."""

    trainable_from: int | None = None
    trunk_dtype: TrunkDtype = "float32"
    update_statistics: bool = False
    fold: bool = True


def assemble(model: nn.Module, options: Options, *, spec: InputSpec, weights: WeightsRecord) -> Encoder:
    """Return the encoder of a timm network without classifier; the network is taken apart."""
    dim = int(cast(Any, model).head_hidden_size)
    first = first_trained(model, options.trainable_from)
    if options.fold and foldable(model):
        fold_last_block(model)
    if _convolutional(model):
        model = cast(Any, model).to(memory_format=torch.channels_last)  # what convolutions run fastest on
    before, after = cut(model, first)
    return Encoder(
        Trunk(before, read=run if first == 0 else _features, dtype=options.trunk_dtype),
        Tail(after, read=_pooled, update_statistics=options.update_statistics),
        dim=dim,
        spec=spec,
        weights=weights,
    )


def _convolutional(model: nn.Module) -> bool:
    """Say whether any windows of a convolution overlap; those that cut an image into patches do not."""
    return any(isinstance(module, nn.Conv2d) and module.kernel_size > module.stride for module in model.modules())


def _features(model: nn.Module, x: Tensor) -> Tensor:
    return cast(Any, model).forward_features(x)


def _pooled(model: nn.Module, t: Tensor) -> Tensor:
    network = cast(Any, model)
    return network.forward_head(network.forward_features(t), pre_logits=True)
