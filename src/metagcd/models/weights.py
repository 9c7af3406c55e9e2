"""Weights from files and back, and a record of where they came from."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from metagcd.errors import InputError
from metagcd.models.encoder import Encoder, WeightsRecord, tensors_digest
from metagcd.models.keys import network_tensors


def initialise(model: nn.Module, *, architecture: str, weights: str, name: str = "") -> WeightsRecord:
    """Load a file into the model unless `weights` is "random"; return what the model now holds.

    `name` is what the record calls the file, where that says more than its path.
    """
    sha256 = ""
    if weights != "random":
        path = Path(weights)
        load_into(model, read_weights(path), origin=str(path))
        sha256 = checksum(path)
    digest = tensors_digest(model.state_dict())
    return WeightsRecord(architecture=architecture, source=name or weights, sha256=sha256, tensors=digest)


def save_weights(encoder: Encoder, path: Path) -> None:
    """Write trunk and tail as one safetensors file that `weights = PATH` reads back, wherever the network is cut."""
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in encoder.network_state().items()}, path)


def read_weights(path: Path) -> Mapping[str, Any]:
    """Return what a safetensors file or a PyTorch checkpoint holds; nothing in it is executed."""
    from safetensors.torch import load_file

    if not path.is_file():
        raise InputError(f'There is no file of weights {path}; give another file or "random".')
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        with torch.serialization.safe_globals([Namespace]):  # DINO's full checkpoints hold their options as one
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # bytes that are no checkpoint can end the reading in any way
        line = str(error).strip().partition("\n")[0]
        raise InputError(f"Cannot read the weights {path}: {line or type(error).__name__}.") from error
    if not isinstance(checkpoint, Mapping):
        raise InputError(f"The weights {path} hold a {type(checkpoint).__name__}, not named tensors.")
    return checkpoint


def load_into(model: nn.Module, checkpoint: Mapping[str, Any], *, origin: str) -> None:
    """Load a checkpoint; refuse it, naming the first tensors that differ, if it belongs to another network."""
    state = model.state_dict()
    # A family's conversion can bring back a head under timm's name, so that names are looked at on either side of it.
    tensors = network_tensors(_fitted(model, network_tensors(checkpoint, state), origin), state)
    for name, tensor in state.items():
        if name.endswith("num_batches_tracked"):
            tensors.setdefault(name, tensor)  # a count that only training uses, and old files lack
    differing = [name for name in {**state, **tensors} if _shape(state, name) != _shape(tensors, name)]
    if differing:
        shown = "; ".join(f"{name} is {_shape(tensors, name)}, not {_shape(state, name)}" for name in differing[:3])
        count = f"{len(differing)} of {len(state)} tensors differ"
        raise InputError(f"The weights {origin} do not fit a {type(model).__name__}: {count}: {shown}.")
    model.load_state_dict(tensors)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _fitted(model: nn.Module, tensors: dict[str, Tensor], origin: str) -> dict[str, Tensor]:
    # Each timm family knows the layouts of its official releases and how to bring positions to another image size.
    fit = getattr(sys.modules[type(model).__module__], "checkpoint_filter_fn", None)
    if fit is None:
        return dict(tensors)
    try:
        return dict(fit(tensors, model))
    except (RuntimeError, KeyError, AttributeError, AssertionError, ValueError) as error:
        raise InputError(f"The weights {origin} do not fit a {type(model).__name__}: {error}.") from error


def _shape(tensors: Mapping[str, Tensor], name: str) -> str:
    return str(tuple(tensors[name].shape)) if name in tensors else "absent"
