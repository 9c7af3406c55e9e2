"""The state after session 0, shared by runs in which it is the same function of the same values."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from metagcd.config import to_mapping
from metagcd.models.encoder import tensors_digest

if TYPE_CHECKING:
    from metagcd.experiment.config import RunConfig
    from metagcd.experiment.trial import Trial
    from metagcd.methods.learner import Setting

LATER = frozenset({"method", "readout", "novel_given", "seeds"})
"""Fields of a run that session 0 does not depend on; what it takes of `method`, the method says itself."""
DRAWN = frozenset({"protocol", "split", "split_seed"})
"""Fields of which nothing counts but the images they lead to."""


@runtime_checkable
class SharesOffline(Protocol):
    """The config of a method that says what its session 0 is a function of."""

    def offline_key(self) -> Mapping[str, Any]:
        """Return the values that, with images, encoder, views and seed, determine the state after session 0.

        Two methods may return equal keys only if each can take up the other's state and it would have been its own.
        """
        ...


def shared_state(trial: "Trial", setting: "Setting") -> Path | None:
    """Return where the state after session 0 may be shared; None where nothing is shared. Call before training."""
    folder, fields = trial.hardware.shared, offline_fields(trial.config, without=LATER | DRAWN)
    if folder is None or fields is None:
        return None
    context = {
        "fields": fields,
        "seed": trial.seed,
        "images": trial.data.fingerprint,
        "protocol": trial.protocol.digest,
        "encoder": tensors_digest(setting.encoder.network_state(), setting.encoder.weights_digest),
        "precision": trial.hardware.precision,
    }
    return folder / f"{digest_of(context)}.safetensors"


def offline_fields(config: "RunConfig", *, without: frozenset[str] = LATER) -> dict[str, Any] | None:
    """Return what the state after session 0 depends on, but for the seed; None where the method does not say."""
    if not isinstance(config.method, SharesOffline):
        return None
    fields = {key: value for key, value in to_mapping(config).items() if key not in without}
    return {**fields, "offline": config.method.offline_key()}


def digest_of(values: Mapping[str, Any]) -> str:
    """Return sixteen hexadecimal digits that name these values."""
    return blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=8).hexdigest()
