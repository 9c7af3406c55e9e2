"""Tensors and a little JSON in one safetensors file, and the place where a stage of training keeps its state."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim import Optimizer

from metagcd.errors import InputError
from metagcd.runs import write_atomic


@dataclass(frozen=True)
class State:
    """Named tensors, and what is not a tensor."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]


def save_state(path: Path, state: State) -> None:
    """Write the state whole or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
    write_atomic(path, save(tensors, metadata={"json": json.dumps(state.values)}))


def load_state(path: Path) -> State:
    """Return the state that `save_state` wrote."""
    try:
        data = path.read_bytes()
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return State(tensors, json.loads(header["__metadata__"]["json"]))
    except (OSError, safetensors.SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise InputError(f"Cannot read the state {path}: {error}.") from error


@dataclass(frozen=True)
class Keeper:
    """Where the stages of one session keep their place, so that they can be interrupted. Without a folder, nowhere."""

    folder: Path | None = None
    every: float = 60.0
    """Seconds between two saves within a stage."""
    _saved: dict[str, float] = field(default_factory=dict[str, float], compare=False, repr=False)

    def find(self, stage: str) -> State | None:
        """Return the last state of the stage."""
        self._saved[stage] = time.monotonic()
        path = self._path(stage)
        return load_state(path) if path is not None and path.exists() else None

    def due(self, stage: str) -> bool:
        """Say whether it is time to save."""
        return self.folder is not None and time.monotonic() - self._saved.get(stage, 0.0) >= self.every

    def keep(self, stage: str, state: State) -> None:
        """Save the state of the stage in place of its last one."""
        path = self._path(stage)
        if path is not None:
            save_state(path, state)
            self._saved[stage] = time.monotonic()

    def _path(self, stage: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{stage}.safetensors"


def training_state(trained: nn.Module, optimiser: Optimizer, step: int) -> State:
    """Return all that a later process needs to go on from this step."""
    tensors = {f"module.{name}": tensor for name, tensor in trained.state_dict().items()}
    for number, entries in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{key}": value for key, value in entries.items() if isinstance(value, Tensor)}
    return State(tensors, {"step": step})


def restore_training(state: State, trained: nn.Module, optimiser: Optimizer) -> int:
    """Put the state back into module and optimiser; return the step to go on from."""
    trained.load_state_dict(_below(state.tensors, "module."))
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in _below(state.tensors, "optimiser.").items():
        number, key = name.split(".", 1)
        entries.setdefault(int(number), {})[key] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": entries, "param_groups": groups})
    return int(state.values["step"])


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
