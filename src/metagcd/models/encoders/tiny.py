"""A small vision transformer that learns from scratch on a laptop."""

from collections import OrderedDict
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, unfold

from metagcd.errors import InputError
from metagcd.models import ENCODERS
from metagcd.models.encoder import Encoder, Tail, Trunk
from metagcd.models.weights import initialise
from metagcd.seeds import Seeds
from metagcd.types import InputSpec


@dataclass(frozen=True, kw_only=True)
class TinyConfig:
    """A pre-norm vision transformer with a class token; its feature is the normalised class token."""

    image_size: int = 16
    """Side of the input, in pixels; the digits are 8 x 8 and gain room for shifts and crops."""
    patch: int = 4
    """Side of a patch, in pixels."""
    width: int = 96
    """Width of a token, and of the feature."""
    depth: int = 4
    """Number of blocks."""
    heads: int = 4
    """Attention heads per block."""
    trainable_from: int = 0
    """First block that is trained; 0 trains everything, and the trunk only cuts the image into patches."""
    weights: str = "random"
    """`random`, or a file written by `metagcd.models.weights.save_weights`."""

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit one another."""
        if self.image_size % self.patch:
            raise InputError(f"`image_size` {self.image_size} is not a multiple of `patch` {self.patch}.")
        if self.width % self.heads:
            raise InputError(f"`width` {self.width} is not a multiple of `heads` {self.heads}.")
        if not 0 <= self.trainable_from < self.depth:
            raise InputError(f"`trainable_from` must be in [0, {self.depth - 1}]; got {self.trainable_from}.")


class Patches(nn.Module):
    """Cut images into square patches, row by row."""

    def __init__(self, patch: int) -> None:
        super().__init__()
        self.patch = patch

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n p"]:
        """Return the pixels of every patch."""
        return unfold(x, self.patch, stride=self.patch).transpose(1, 2)


class Embedding(nn.Module):
    """Patches to tokens: a linear map, the class token in front, learned positions."""

    def __init__(self, patch_values: int, tokens: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(patch_values, width)
        self.cls = nn.Parameter(torch.randn(width) * 0.02)
        self.position = nn.Parameter(torch.randn(tokens + 1, width) * 0.02)

    def forward(self, patches: Float[Tensor, "b n p"]) -> Float[Tensor, "b m d"]:
        """Return the n + 1 tokens."""
        cls = self.cls.expand(patches.shape[0], 1, -1)
        return torch.cat([cls, self.linear(patches)], dim=1) + self.position


class Block(nn.Module):
    """Self-attention, then two layers, each normalised before and added to what came in.

    With `first_only` the block returns its first token alone and spends nothing on the others.
    """

    def __init__(self, width: int, heads: int, *, first_only: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.first_only = first_only
        self.attention_norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b m d"]:
        """Return the tokens, or the first of them."""
        h = self.attention_norm(x)
        rows = 1 if self.first_only else x.shape[1]
        query = self.query(h[:, :rows]).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        key, value = self.key_value(h).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        x = x[:, :rows] + self.out(mixed)
        return x + self.mlp(self.mlp_norm(x))


@ENCODERS.register("tiny", TinyConfig)
def tiny(config: TinyConfig, seeds: Seeds) -> Encoder:
    """A small vision transformer, trained from scratch in about a minute on two cores."""
    with seeds.torch_scope("tiny", "weights"):
        steps = _steps(config)
    shape = (config.image_size, config.patch, config.width, config.depth, config.heads)
    architecture = "tiny-" + "-".join(map(str, shape))
    record = initialise(nn.Sequential(steps), architecture=architecture, weights=config.weights)
    cut = 2 + config.trainable_from if config.trainable_from else 1
    return Encoder(
        Trunk(nn.Sequential(OrderedDict(list(steps.items())[:cut]))),
        Tail(nn.Sequential(OrderedDict(list(steps.items())[cut:]))),
        dim=config.width,
        spec=InputSpec(
            size=config.image_size,
            mean=(0.3, 0.3, 0.3),  # of the digits: 0.305 and 0.376, rounded
            std=(0.375, 0.375, 0.375),
            interpolation="bilinear",
            crop_fraction=1.0,
        ),
        weights=record,
    )


def _steps(config: TinyConfig) -> "OrderedDict[str, nn.Module]":
    tokens = (config.image_size // config.patch) ** 2
    steps: OrderedDict[str, nn.Module] = OrderedDict(patches=Patches(config.patch))
    steps["embedding"] = Embedding(3 * config.patch**2, tokens, config.width)
    for number in range(config.depth):
        steps[f"block{number}"] = Block(config.width, config.heads, first_only=number == config.depth - 1)
    steps["norm"] = nn.LayerNorm(config.width)
    steps["cls"] = nn.Flatten()
    return steps
