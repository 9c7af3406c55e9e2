"""Encoders, heads, stored features. Listing what there is imports neither torch nor timm."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from metagcd.registry import Registry
from metagcd.seeds import Seeds

if TYPE_CHECKING:
    from metagcd.models.build import build_encoder, encoder_of
    from metagcd.models.encoder import Encoder
    from metagcd.models.head import Projection, ProjectionHead

ENCODERS: Registry[Callable[[Any, Seeds], "Encoder"]] = Registry("encoder", "metagcd.models.encoders")

_HOMES = {
    "Encoder": "metagcd.models.encoder",
    "Projection": "metagcd.models.head",
    "ProjectionHead": "metagcd.models.head",
    "build_encoder": "metagcd.models.build",
    "encoder_of": "metagcd.models.build",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)


__all__ = ["ENCODERS", "Encoder", "Projection", "ProjectionHead", "build_encoder", "encoder_of"]
