"""Cut a timm network at a block or stage: what comes before becomes the trunk, the rest the tail."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from timm.models.convnext import ConvNeXt
from timm.models.efficientnet import EfficientNet
from timm.models.eva import Eva
from timm.models.mobilenetv3 import MobileNetV3
from timm.models.resnet import ResNet
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from metagcd.errors import InputError


@dataclass(frozen=True)
class Family:
    """Where the parts of a kind of network are, by timm's attribute names.

    `forward_features` of each runs stem, stages and top in this order; `last` is used by `forward_head` alone.
    """

    stem: tuple[str, ...]
    stages: tuple[str, ...]
    """The attributes that are stages, or the one attribute that contains them."""
    top: tuple[str, ...] = ()
    last: tuple[str, ...] = ()


_TOKENS = ("patch_embed", "cls_token", "reg_token", "pos_embed", "norm_pre")
_POOLING = ("attn_pool", "fc_norm", "head")

FAMILIES: dict[type[nn.Module], Family] = {
    VisionTransformer: Family(_TOKENS, ("blocks",), ("norm",), _POOLING),
    Eva: Family(_TOKENS, ("blocks",), ("norm",), _POOLING),
    ResNet: Family(("conv1", "bn1", "act1", "maxpool"), ("layer1", "layer2", "layer3", "layer4"), (), ("fc",)),
    ConvNeXt: Family(("stem",), ("stages",), ("norm_pre",), ("head",)),
    EfficientNet: Family(("conv_stem", "bn1"), ("blocks",), ("conv_head", "bn2"), ("classifier",)),
    MobileNetV3: Family(("conv_stem", "bn1"), ("blocks",), (), ("conv_head", "norm_head", "act2", "classifier")),
}


class Skip(nn.Module):
    """Stand where a part was; return the input."""

    def forward(self, x: Tensor, **_: Any) -> Tensor:
        """Return the input; rotations and masks meant for the part are ignored."""
        return x


class Rotation(nn.Module):
    """The rotation of positions that the trunk uses, held fixed: it neither trains nor is augmented in training."""

    def __init__(self, rope: nn.Module, grid: Sequence[int]) -> None:
        super().__init__()
        self.feat_shape = list(grid)
        with torch.no_grad():  # the angles are constants of the tail
            angles = cast(Any, rope.eval()).get_embed(shape=self.feat_shape)
        self.register_buffer("angles", angles, persistent=False)

    def get_embed(self) -> Tensor:
        """Return the angles, as timm's modules do."""
        return cast(Tensor, self.angles)


def stages_of(model: nn.Module) -> list[str]:
    """Return the paths of the network's blocks or stages, in order; empty where the network cannot be cut."""
    family = FAMILIES.get(type(model))
    if family is None:
        return []
    container, *more = family.stages
    if more:
        return list(family.stages)
    return [f"{container}.{name}" for name, _ in model.get_submodule(container).named_children()]


def first_trained(model: nn.Module, trainable_from: int | None) -> int:
    """Return the index of the first trained block or stage; None means the last one."""
    stages = stages_of(model)
    if trainable_from is None:
        trainable_from = max(len(stages) - 1, 0)
    if trainable_from and not stages:
        raise InputError(f"A {type(model).__name__} cannot be cut; set `trainable_from` to 0 to train all of it.")
    if not 0 <= trainable_from < max(len(stages), 1):
        raise InputError(f"`trainable_from` must be in [0, {len(stages) - 1}] for this network; got {trainable_from}.")
    return trainable_from


def cut(model: nn.Module, first: int) -> tuple[nn.Module, nn.Module]:
    """Return two networks with timm's own forward: one up to stage `first`, one from there on.

    Their tensors keep their names and none is in both.
    """
    if first == 0:
        return nn.Identity(), model
    family, stages = FAMILIES[type(model)], stages_of(model)
    before = deepcopy(model)
    grid = getattr(getattr(model, "patch_embed", None), "grid_size", ())
    _clear(before, [*stages[first:], *family.top, *family.last])
    _clear(model, [*family.stem, *stages[:first]])
    if type(model) is Eva and model.rope is not None:
        model.dynamic_img_size = False  # the tail sees tokens, not an image to measure
        model.rope = Rotation(before.get_submodule("rope"), grid)
    return before, model


def _clear(model: nn.Module, paths: Iterable[str]) -> None:
    for path in paths:
        parent, _, leaf = path.rpartition(".")
        owner = model.get_submodule(parent)
        if isinstance(getattr(owner, leaf, None), nn.Module):
            setattr(owner, leaf, Skip())
        elif hasattr(owner, leaf):
            setattr(owner, leaf, None)
