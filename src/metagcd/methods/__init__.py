"""Learners, one file each."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metagcd.config import from_mapping
from metagcd.registry import Registry

if TYPE_CHECKING:
    from metagcd.methods.learner import Learner, Setting
    from metagcd.models import Encoder

METHODS: "Registry[Callable[[Any, Setting], Learner]]" = Registry("method", "metagcd.methods")


def available() -> tuple[str, ...]:
    """Return the names of all learners."""
    return METHODS.names()


def build(name: str, *, encoder: "Encoder | None" = None, seed: int = 0, **config: Any) -> "Learner":
    """Return a new learner; `config` overlays the defaults of its config, nested tables included.

    Without an encoder it gets a `tiny` one of its own, with random weights.
    """
    from metagcd.methods.learner import Setting
    from metagcd.models import build_encoder
    from metagcd.seeds import Seeds

    entry = METHODS.get(name)
    chosen = from_mapping(entry.config(), config)
    own = encoder if encoder is not None else build_encoder("tiny", seed=seed)
    return entry.target(chosen, Setting(encoder=own, seeds=Seeds(seed)))


__all__ = ["METHODS", "available", "build"]
