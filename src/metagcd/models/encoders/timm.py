"""Any network of timm, cut in two."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import timm

from metagcd.errors import InputError, unknown_name
from metagcd.models import ENCODERS
from metagcd.models.assemble import Options, assemble
from metagcd.models.encoder import Encoder, TrunkDtype
from metagcd.models.sources import pretrained_file
from metagcd.models.weights import initialise
from metagcd.seeds import Seeds
from metagcd.types import InputSpec


@dataclass(frozen=True, kw_only=True)
class TimmConfig:
    """A network of timm; its feature is what timm hands to its classifier."""

    model: str = "vit_base_patch16_224.dino"
    """timm's name of the network, with or without a tag of pretrained weights; the default is the paper's."""
    image_size: int | None = None
    """Side of the input, in pixels; absent: what the weights were made for. Positions are interpolated."""
    trainable_from: int | None = None
    """First block or stage that is trained; absent: the last one (the paper's choice), or all of a network of a
    kind that cannot be cut; 0 trains everything."""
    weights: str = "auto"
    """`auto` (an installed package, the hub's cache, the hub), `random`, or a safetensors or .pth file."""
    trunk_dtype: TrunkDtype = "float32"
    """Arithmetic of the trunk. float32 is timm's result; bfloat16 is faster on graphics cards and on processors
    with bfloat16 units (about three times on the ones we measured), and rounds to three digits."""
    update_statistics: bool = False
    """Let batch normalisation in the tail follow the batches. Off: unlabelled sessions would shift it unnoticed."""
    fold: bool = True
    """Compute of a vision transformer's last block only what the class token needs; exact, off only to compare."""


@ENCODERS.register("timm", TimmConfig)
def timm_encoder(config: TimmConfig, seeds: Seeds) -> Encoder:
    """Any network of timm: DINO, DINOv2, DINOv3, CLIP and supervised vision transformers, and common CNNs."""
    settings = _settings(config.model)
    spec = _spec(settings, config.image_size or settings.input_size[-1])
    arguments: dict[str, Any] = {"img_size": spec.size} if settings.fixed_input_size else {}
    with seeds.torch_scope("timm", "weights"):
        model = timm.create_model(config.model, num_classes=0, **arguments)
    _check_size(model, spec.size)
    name, weights = config.weights, config.weights
    if weights == "auto":
        name, weights = pretrained_file(config.model)
    record = initialise(model, architecture=f"{config.model}-{spec.size}", weights=str(weights), name=name)
    options = Options(
        trainable_from=config.trainable_from,
        trunk_dtype=config.trunk_dtype,
        update_statistics=config.update_statistics,
        fold=config.fold,
    )
    return assemble(model, options, spec=spec, weights=record)


def _settings(model: str) -> Any:
    architecture, _, tag = model.partition(".")
    if not timm.is_model(architecture):
        near = ", ".join(get_close_matches(model, [*ENCODERS.names(), *timm.list_models()], n=3))
        hint = f" Did you mean one of {near}?" if near else ""
        raise InputError(f"Neither metagcd nor timm knows an encoder `{model}`.{hint} `timm.list_models()` lists all.")
    try:
        return timm.get_pretrained_cfg(model)
    except RuntimeError as error:
        tags = [name.partition(".")[2] for name in timm.list_pretrained(f"{architecture}.*")]
        raise unknown_name(f"set of weights of {architecture}", tag, tags) from error


def _check_size(model: Any, size: int) -> None:
    sides = getattr(getattr(model, "patch_embed", None), "patch_size", 1)
    patch = sides if isinstance(sides, int) else sides[0]
    if size % patch:
        raise InputError(f"`image_size` must be a multiple of {patch}, the side of a patch; got {size}.")


def _spec(settings: Any, size: int) -> InputSpec:
    return InputSpec(
        size=size,
        mean=tuple(settings.mean),
        std=tuple(settings.std),
        interpolation=settings.interpolation if settings.interpolation in ("nearest", "bilinear") else "bicubic",
        crop_fraction=settings.crop_pct,
    )
