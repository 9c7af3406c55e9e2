"""Session 0: all of it or its first half is shared by runs in which that is the same function of the same values."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from metagcd.config import to_mapping
from metagcd.engine.checkpoint import State, load_state, save_state
from metagcd.engine.distributed import of_first
from metagcd.engine.runtime import processor
from metagcd.methods.learner import Learner, LearnsInTwo
from metagcd.models.encoder import tensors_digest
from metagcd.types import LabelledSet

if TYPE_CHECKING:
    from lightning_fabric import Fabric

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
        Of a learner that learns in two halves it is the state after the first.
        """
        ...


@dataclass(frozen=True)
class Shared:
    """Where what runs share of session 0 lies, if it is shared, and the processes that learn it together."""

    file: Path | None = None
    fabric: "Fabric" = field(default_factory=processor)

    def find(self) -> State | None:
        """Return what lies there, to every process what the first one found."""
        file = self.file
        return of_first(self.fabric, lambda: load_state(file) if file is not None and file.exists() else None)

    def keep(self, state: State) -> None:
        """Put the state there."""
        if self.file is not None and self.fabric.is_global_zero:
            save_state(self.file, state)


def learn_offline(learner: Learner, labelled: LabelledSet, shared: Shared) -> float:
    """Learn session 0, of which what lies in the shared place is taken up; return the seconds that it all took."""
    halves = isinstance(learner, LearnsInTwo)
    state = shared.find()
    if state is not None:
        (learner.load_encoder_state if halves else learner.load_state_dict)(state.tensors)
    else:
        seconds = _seconds(learner.fit_encoder if halves else learner.fit_offline, labelled)
        state = State(learner.encoder_state() if halves else learner.state_dict(), {"seconds": seconds})
        shared.keep(state)
    seconds = float(state.values["seconds"])
    return seconds + _seconds(learner.finish_offline, labelled) if halves else seconds


def shared_state(trial: "Trial", setting: "Setting") -> Path | None:
    """Return where what runs share of session 0 may lie; None where nothing is shared. Call before training."""
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


def _seconds(learn: Callable[[LabelledSet], None], labelled: LabelledSet) -> float:
    """Learn; return how long it took."""
    started = time.perf_counter()
    learn(labelled)
    return time.perf_counter() - started


def offline_fields(config: "RunConfig", *, without: frozenset[str] = LATER) -> dict[str, Any] | None:
    """Return what the state after session 0 depends on, but for the seed; None where the method does not say."""
    if not isinstance(config.method, SharesOffline):
        return None
    fields = {key: value for key, value in to_mapping(config).items() if key not in without}
    return {**fields, "offline": config.method.offline_key()}


def digest_of(values: Mapping[str, Any]) -> str:
    """Return sixteen hexadecimal digits that name these values."""
    return blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=8).hexdigest()
