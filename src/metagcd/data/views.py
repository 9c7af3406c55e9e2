"""What an encoder is shown of an image: two random views for training, one plain view for evaluation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Float32, Int64, UInt8
from torch import Tensor
from torch.nn import functional

from metagcd.data.draws import Draw, uniforms
from metagcd.data.noise import gaussian
from metagcd.errors import InputError
from metagcd.types import Array, InputSpec

Pixels: TypeAlias = UInt8[Array, "b h w 3"] | UInt8[Tensor, "b h w 3"]


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """What a random view does to an image, in this order; the defaults are the crop and flip of the GCD family.

    The crop itself comes from the encoder's `InputSpec`: resize to size / crop_fraction, crop to size.
    """

    shift: int = 0
    """Pixels added on every side before the random crop, for images that fill their frame; 0: none (GCD code)."""
    padding: Literal["zero", "reflect"] = "zero"
    """What lies outside the image when it is shifted, rotated or shrunk."""
    flip: float = 0.5
    """Probability of a left-right flip (GCD code); 0 where left and right differ in meaning, as in digits."""
    degrees: float = 0.0
    """Largest rotation to either side; 0: none (GCD code)."""
    zoom: tuple[float, ...] = (1.0, 1.0)
    """Smallest and largest magnification; 1, 1: none (GCD code)."""
    brightness: float = 0.0
    """Largest relative change of brightness; 0 because the GCD code calls ColorJitter() without strengths."""
    contrast: float = 0.0
    """Largest relative change of contrast about the mean grey; 0 as for brightness."""
    noise: float = 0.0
    """Standard deviation of Gaussian noise, on the scale [0, 1], not clipped; 0: none (GCD code)."""

    def __post_init__(self) -> None:
        """Refuse strengths that make no picture."""
        for name in ("shift", "degrees", "noise"):
            if getattr(self, name) < 0:
                raise InputError(f"`{name}` must not be negative; got {getattr(self, name)}.")
        for name in ("flip", "brightness", "contrast"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"`{name}` must be in [0, 1]; got {getattr(self, name)}.")
        if len(self.zoom) != 2 or not 0 < self.zoom[0] <= self.zoom[1]:
            raise InputError(f"`zoom` must be a smallest and a largest magnification above 0; got {list(self.zoom)}.")


def evaluation_view(pixels: Pixels, spec: InputSpec) -> Float32[Tensor, "b 3 s s"]:
    """Resize, crop the centre, normalise."""
    x = _resized(_tensor(pixels), spec)
    top, left = (round((side - spec.size) / 2) for side in x.shape[2:])
    x = x[:, :, top : top + spec.size, left : left + spec.size]
    return _normalise_(x.contiguous().float(), spec)


def train_view(
    pixels: Pixels, *, spec: InputSpec, augmentation: Augmentation, draw: Draw
) -> Float32[Tensor, "b 3 s s"]:
    """Return the random view of each image that the draw determines."""
    return _views(_tensor(pixels), spec, augmentation, (draw,))


def two_views(
    pixels: Pixels,
    *,
    spec: InputSpec,
    augmentation: Augmentation,
    seed: int,
    images: Int64[Array, " b"],
    epoch: int,
) -> Float32[Tensor, "two_b 3 s s"]:
    """Return view 1 of every image stacked on view 2; `images` are the numbers that name the images to the draws."""
    draws = [Draw(seed=seed, images=images, epoch=epoch, view=view) for view in (1, 2)]
    return _views(_tensor(pixels), spec, augmentation, draws)


def _views(
    x: UInt8[Tensor, "b 3 h w"], spec: InputSpec, augmentation: Augmentation, draws: Sequence[Draw]
) -> Float32[Tensor, "n 3 s s"]:
    """Return the views of all draws, stacked. What does not depend on the draw is done once."""
    x = _cropped(_padded(_resized(x, spec), augmentation), spec.size, augmentation, draws)
    # Bytes until here, where they are cheaper; from here on numbers on the scale [0, 255].
    x = _toned(_turned(x.float(), augmentation, draws), augmentation, draws)
    if augmentation.noise:
        keys = np.concatenate([draw.bits("noise") for draw in draws]).view(np.int64)
        x = x + 255 * augmentation.noise * gaussian(_beside(keys, x), tuple(x.shape[1:]))
    return _normalise_(x, spec)


def _tensor(pixels: Pixels) -> UInt8[Tensor, "b 3 h w"]:
    """Return the images channels first, without a copy where the memory allows."""
    if isinstance(pixels, np.ndarray):
        pixels = torch.from_numpy(np.require(pixels, requirements=["C", "W"]))
    return pixels.permute(0, 3, 1, 2)


def _resized(x: UInt8[Tensor, "b 3 h w"], spec: InputSpec) -> UInt8[Tensor, "b 3 H W"]:
    """Bring the shorter side to size / crop_fraction, as torchvision's Resize does."""
    target, short = round(spec.size / spec.crop_fraction), min(x.shape[2:])
    if short == target:
        return x
    size = [target if side == short else int(target * side / short) for side in x.shape[2:]]
    if spec.interpolation == "nearest":
        return functional.interpolate(x, size, mode="nearest-exact")
    if x.device.type == "cpu":
        return functional.interpolate(x, size, mode=spec.interpolation, antialias=True)
    return interpolated(x, size, spec)


def interpolated(x: UInt8[Tensor, "b 3 h w"], size: list[int], spec: InputSpec) -> UInt8[Tensor, "b 3 H W"]:
    """Resize bytes by way of numbers: only the processor interpolates bytes as they are.

    As there, first along and then down, each ending in bytes: what bicubic weights overshoot is cut off in between.
    """
    resized = x.float()
    for step in ([x.shape[2], size[1]], size):
        resized = functional.interpolate(resized, step, mode=spec.interpolation, antialias=True)
        resized = resized.round_().clamp_(0, 255)
    return resized.to(torch.uint8)


def _padded(x: UInt8[Tensor, "b 3 h w"], augmentation: Augmentation) -> UInt8[Tensor, "b 3 H W"]:
    shift = augmentation.shift
    if shift == 0:
        return x
    if augmentation.padding == "zero":
        return functional.pad(x, [shift] * 4)
    for axis in (2, 3):
        side = x.shape[axis]
        # 0 1 2 .. n-1 n-2 .. 1, again and again: reflection without the edge, for any width of the border.
        period = max(2 * (side - 1), 1)
        place = torch.arange(-shift, side + shift, device=x.device) % period
        x = x.index_select(axis, torch.minimum(place, period - place) if side > 1 else place)
    return x


def _cropped(
    x: UInt8[Tensor, "b 3 h w"], size: int, augmentation: Augmentation, draws: Sequence[Draw]
) -> UInt8[Tensor, "n 3 s s"]:
    """Cut a square per image and draw, and mirror some: n picks from the view of memory that holds all squares."""
    top, left = (
        uniforms(draws, name, 0.0, side - size + 1.0).astype(np.int64)
        for name, side in zip(("top", "left"), x.shape[2:], strict=True)
    )
    image = np.tile(np.arange(len(x)), len(draws))
    x = x.contiguous()
    if augmentation.flip:
        # A mirrored square is a square of the mirrored image, which is made once for all draws.
        flip = uniforms(draws, "flip") < augmentation.flip
        image, left = image + flip * len(x), np.where(flip, x.shape[3] - size - left, left)
        x = torch.cat([x, x.flip(-1)])
    squares = x.unfold(2, size, 1).unfold(3, size, 1)
    return squares[_beside(image, x), :, _beside(top, x), _beside(left, x)]


def _turned(
    x: Float32[Tensor, "n 3 s s"], augmentation: Augmentation, draws: Sequence[Draw]
) -> Float32[Tensor, "n 3 s s"]:
    """Rotate clockwise and magnify about the centre."""
    if len(x) == 0 or (augmentation.degrees == 0 and augmentation.zoom == (1.0, 1.0)):
        return x
    largest = math.radians(augmentation.degrees)
    angle = uniforms(draws, "angle", -largest, largest)
    zoom = uniforms(draws, "zoom", *augmentation.zoom)
    theta = np.zeros((len(x), 2, 3), dtype=np.float32)
    theta[:, 0, 0] = theta[:, 1, 1] = np.cos(angle) / zoom
    theta[:, 0, 1] = np.sin(angle) / zoom
    theta[:, 1, 0] = -theta[:, 0, 1]
    grid = functional.affine_grid(_beside(theta, x), list(x.shape), align_corners=False)
    mode = {"zero": "zeros", "reflect": "reflection"}[augmentation.padding]
    return functional.grid_sample(x, grid, mode="bilinear", padding_mode=mode, align_corners=False)


def _toned(
    x: Float32[Tensor, "n 3 s s"], augmentation: Augmentation, draws: Sequence[Draw]
) -> Float32[Tensor, "n 3 s s"]:
    """Scale the brightness, then the contrast about the mean grey."""
    if augmentation.brightness:
        x = (x * _factors("brightness", augmentation.brightness, x, draws)).clamp_(0, 255)
    if augmentation.contrast:
        factor = _factors("contrast", augmentation.contrast, x, draws)
        luma = x.new_tensor([0.2989, 0.587, 0.114])  # as in torchvision (ITU-R BT.601)
        grey = (x.mean(dim=(2, 3)) @ luma)[:, None, None, None]
        x = (x * factor + grey * (1 - factor)).clamp_(0, 255)
    return x


def _factors(name: str, strength: float, x: Tensor, draws: Sequence[Draw]) -> Float32[Tensor, "n 1 1 1"]:
    factor = uniforms(draws, name, 1 - strength, 1 + strength)
    return _beside(factor.astype(np.float32), x)[:, None, None, None]


def _normalise_(x: Float32[Tensor, "b 3 s s"], spec: InputSpec) -> Float32[Tensor, "b 3 s s"]:
    """Make x, on the scale [0, 255], (x / 255 - mean) / std, in place: new memory costs more than the sums."""
    mean = torch.tensor(spec.mean, device=x.device)[:, None, None]
    std = torch.tensor(spec.std, device=x.device)[:, None, None]
    return x.mul_(1 / (255 * std)).sub_(mean / std)


def _beside(array: Array, x: Tensor) -> Tensor:
    return torch.from_numpy(array).to(x.device, non_blocking=True)
