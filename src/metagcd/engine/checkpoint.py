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
    last: int = 1
    """States of a stage that are kept: STAGE.safetensors is the newest, STAGE.1.safetensors the one before it."""
    _saved: dict[str, float] = field(default_factory=dict[str, float], compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse to keep nothing."""
        if self.last < 1:
            raise InputError(f"At least 1 state of a stage has to be kept; got {self.last}.")

    def find(self, stage: str) -> State | None:
        """Return the newest state of the stage that can be read; raise when there are states and none can be."""
        self._saved[stage] = time.monotonic()
        damaged: dict[Path, InputError] = {}
        for path in self._states(stage):
            try:
                state = load_state(path)
            except InputError as error:
                damaged[path] = error
                continue
            for newer in damaged:
                newer.unlink(missing_ok=True)  # or the next save would put it in the place of this one
            return state
        if damaged:
            raise next(iter(damaged.values()))
        return None

    def due(self, stage: str) -> bool:
        """Say whether it is time to save."""
        return self.folder is not None and time.monotonic() - self._saved.get(stage, 0.0) >= self.every

    def keep(self, stage: str, state: State) -> None:
        """Save the state of the stage, and remove the oldest where there are more than are kept.

        Ended at any moment, this leaves a state that is whole if there was one.
        """
        if self.folder is None:
            return
        for path in self._states(stage)[self.last :]:
            path.unlink()
        for age in range(self.last - 1, 0, -1):
            younger = self._path(self.folder, stage, age - 1)
            if younger.exists():
                younger.replace(self._path(self.folder, stage, age))
        save_state(self._path(self.folder, stage, 0), state)
        self._saved[stage] = time.monotonic()

    def _states(self, stage: str) -> list[Path]:
        """Return the states of the stage that are there, the newest first; an interruption may leave ages out."""
        if self.folder is None:
            return []
        names = (Path(path.stem).suffix[1:] for path in self.folder.glob(f"{stage}.*.safetensors"))
        ages = sorted(int(name) for name in names if name.isdigit())
        paths = [self._path(self.folder, stage, age) for age in (0, *ages)]
        return [path for path in paths if path.exists()]

    @staticmethod
    def _path(folder: Path, stage: str, age: int) -> Path:
        return folder / (f"{stage}.{age}.safetensors" if age else f"{stage}.safetensors")


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
