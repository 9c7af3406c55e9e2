"""From a name or a config to an encoder."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from metagcd.errors import InputError
from metagcd.models import ENCODERS
from metagcd.seeds import Seeds

if TYPE_CHECKING:
    from metagcd.models.encoder import Encoder


def encoder_of(config: Any, seeds: Seeds) -> "Encoder":
    """Return the encoder that a config describes; equal seeds give equal random weights."""
    return ENCODERS.of(config).target(config, seeds)


def build_encoder(
    name: str,
    *,
    weights: str = "auto",
    image_size: int | None = None,
    trainable_from: int | None = None,
    seed: int = 0,
) -> "Encoder":
    """Return a registered encoder, or any network that timm knows, by name.

    `weights`: "auto" (pretrained ones where they can be had; `tiny` has none), "random", or a file.
    `image_size` and `trainable_from` (the first trained block or stage) default to what suits the network.
    """
    own = name in ENCODERS.names()
    config_class = ENCODERS.config_class(name if own else "timm")
    table: dict[str, Any] = {"image_size": image_size, "trainable_from": trainable_from}
    table["model"] = None if own else name
    table["weights"] = None if weights == "auto" else weights
    changes = {key: value for key, value in table.items() if value is not None}
    missing = changes.keys() - {field.name for field in fields(config_class)}
    if missing:
        raise InputError(f"The encoder `{name}` has no `{min(missing)}`.")
    return encoder_of(config_class(**changes), Seeds(seed))
