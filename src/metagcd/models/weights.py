"""Weights from files and back, and a record of where they came from."""

from hashlib import file_digest
from pathlib import Path

from torch import Tensor, nn

from metagcd.errors import InputError
from metagcd.models.encoder import Encoder, WeightsRecord, tensors_digest


def initialise(model: nn.Module, *, architecture: str, weights: str) -> WeightsRecord:
    """Load the file into the model unless `weights` is "random"; return what the model now holds."""
    sha256 = ""
    if weights != "random":
        path = Path(weights)
        load_into(model, read_weights(path), origin=str(path))
        sha256 = checksum(path)
    return WeightsRecord(
        architecture=architecture, source=weights, sha256=sha256, tensors=tensors_digest(model.state_dict())
    )


def save_weights(encoder: Encoder, path: Path) -> None:
    """Write trunk and tail as one safetensors file that `weights = PATH` reads back, wherever the network is cut."""
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in encoder.network_state().items()}, path)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise InputError(f"There is no file of weights {path}.")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"Cannot read the weights {path}: {error}.") from error


def load_into(model: nn.Module, tensors: dict[str, Tensor], *, origin: str) -> None:
    """Load the tensors; refuse them, naming the first that differ, if they belong to another network."""
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    differing = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if differing:
        shown = ", ".join(
            f"{name} ({found.get(name, 'absent')}, not {wanted.get(name, 'absent')})" for name in differing[:3]
        )
        raise InputError(f"The weights {origin} are of another network: {len(differing)} tensors differ: {shown}.")
    model.load_state_dict(tensors)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
