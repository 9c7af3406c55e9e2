"""From the names in a checkpoint to the names of a network."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from torch import Tensor

# Where training scripts put the network inside a checkpoint; of teacher and student, the teacher is the one to use.
_HOLDERS = ("teacher", "state_dict_ema", "model_ema", "ema", "state_dict", "model_state_dict", "model", "student")
_PREFIXES = ("module.", "teacher.", "student.", "backbone.", "encoder.", "model.", "network.", "_orig_mod.")
_HEADS = frozenset(
    ("head", "head_dist", "fc", "_fc", "classifier", "linear", "projector", "predictor", "dino_head", "ibot_head")
)


def network_tensors(checkpoint: Mapping[str, Any], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint under the names that the network wants, without any head it lacks.

    Sub-dictionaries and prefixes of training scripts are opened and stripped. Names that are foreign throughout
    are matched in order, if the kind and shape of every single tensor agree.
    """
    tensors = _without_prefixes(_opened(checkpoint), wanted)
    roots = {name.partition(".")[0] for name in wanted}
    kept = {
        name: tensor
        for name, tensor in tensors.items()
        if (root := name.partition(".")[0]) in roots or root not in _HEADS
    }
    if kept.keys().isdisjoint(wanted) and _same_order(kept, wanted):
        return dict(zip(wanted, kept.values(), strict=True))
    return kept


def _opened(checkpoint: Mapping[str, Any]) -> dict[str, Tensor]:
    for holder in _HOLDERS:
        inner = checkpoint.get(holder)
        if isinstance(inner, Mapping):
            return _opened(cast(Mapping[str, Any], inner))
    return {name: value for name, value in checkpoint.items() if isinstance(value, Tensor)}


def _without_prefixes(tensors: dict[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    while True:
        prefix = next(_foreign_prefixes(tensors, wanted), None)
        if prefix is None:
            return tensors
        if prefix == "teacher.":
            tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("student.")}
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}


def _foreign_prefixes(tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> Iterator[str]:
    for prefix in _PREFIXES:
        if any(name.startswith(prefix) for name in tensors) and not any(name.startswith(prefix) for name in wanted):
            yield prefix


def _same_order(tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> bool:
    return [_kind(*item) for item in tensors.items()] == [_kind(*item) for item in wanted.items()]


def _kind(name: str, tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    return name.rpartition(".")[2], tuple(tensor.shape)
