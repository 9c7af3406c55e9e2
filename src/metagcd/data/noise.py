"""Gaussian noise that is a function of a key per image, made on the tensors' device."""

import math

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

# The constants of SplitMix64 as signed integers: torch has no arithmetic on unsigned 64-bit tensors.
_STEP, _FIRST, _SECOND = (c - 2**64 for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def gaussian(keys: Int64[Tensor, " n"], shape: tuple[int, ...]) -> Float32[Tensor, "n ..."]:
    """Return standard normal numbers of this shape for every key (Box and Muller, 1958)."""
    places = torch.arange(math.prod(shape), device=keys.device) * _STEP
    bits = _mixed(_mixed(keys[:, None] + places) ^ keys[:, None])
    radius = ((_shifted(bits, 40) + 1).float() * 2.0**-24).log_().mul_(-2).sqrt_()
    angle = ((bits & 0xFFFFFF).float() * (2 * math.pi * 2.0**-24)).cos_()
    return (radius * angle).view(len(keys), *shape)


def _mixed(x: Int64[Tensor, "n m"]) -> Int64[Tensor, "n m"]:
    x = (x ^ _shifted(x, 30)) * _FIRST
    x = (x ^ _shifted(x, 27)) * _SECOND
    return x ^ _shifted(x, 31)


def _shifted(x: Int64[Tensor, "n m"], places: int) -> Int64[Tensor, "n m"]:
    # A signed shift drags the sign bit along; the mask takes it away.
    return (x >> places) & ((1 << (64 - places)) - 1)
