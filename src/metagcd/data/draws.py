"""Random numbers that are a function of what they are for: seed, image, epoch, view and purpose; there is no state.

A batch's composition, its order and the number of threads therefore cannot change what an image is turned into.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from metagcd.types import Array

# Constants of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The random numbers of one view of some images in one epoch."""

    seed: int
    images: Int64[Array, " b"]
    """The number of each image in the set it was first read from."""
    epoch: int
    view: int

    def bits(self, purpose: str) -> UInt64[Array, " b"]:
        """Return 64 random bits per image."""
        path = f"{self.seed}/{self.epoch}/{self.view}/{purpose}"
        key = np.uint64(int.from_bytes(blake2b(path.encode(), digest_size=8).digest()))
        # Mixed twice, the key in between: two keys a few steps apart would otherwise share numbers between images.
        return _mixed(_mixed(self.images.astype(np.uint64) * _STEP + key) ^ key)

    def uniform(self, purpose: str, low: float = 0.0, high: float = 1.0) -> Float64[Array, " b"]:
        """Return one number per image, uniform in [low, high)."""
        return low + (high - low) * (self.bits(purpose) >> np.uint64(11)) * 2.0**-53


def uniforms(draws: Sequence[Draw], purpose: str, low: float = 0.0, high: float = 1.0) -> Float64[Array, " n"]:
    """Return the numbers of several draws, one draw after another."""
    return np.concatenate([draw.uniform(purpose, low, high) for draw in draws])


def _mixed(x: UInt64[Array, " b"]) -> UInt64[Array, " b"]:
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))
