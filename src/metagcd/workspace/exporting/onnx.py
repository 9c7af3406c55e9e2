"""ONNX: the encoder as the last session left it, checked against torch."""

import json
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from metagcd.errors import InputError
from metagcd.models import Encoder
from metagcd.models.functional import math_attention
from metagcd.workspace.book import recognised, table_of_states
from metagcd.workspace.exporting import EXPORTS, Source
from metagcd.workspace.learning import config_of, encoder_for, learner_for, taken_up
from metagcd.workspace.lines import whole

NEEDED = ("onnx", "onnxscript", "onnxruntime")
"""Packages of the extra `onnx`."""


@dataclass(frozen=True, kw_only=True)
class OnnxConfig:
    """Settings of the ONNX export."""

    tolerance: float = 1e-4
    """Largest difference of any entry of a unit-norm feature between ONNX Runtime and torch."""


class Features(nn.Module):
    """Prepared pixels to unit-norm features, without autocast."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, pixels: Float[Tensor, "n 3 h w"]) -> Float[Tensor, "n d"]:
        """Return the features."""
        trunk = self.encoder.trunk
        return functional.normalize(self.encoder.tail(trunk.read(trunk.model, pixels)), dim=-1)


@EXPORTS.register("onnx", OnnxConfig)
def onnx(config: OnnxConfig, source: Source, output: Path) -> str:
    """The encoder as ONNX, pixels to unit features; beside it, as JSON, how to prepare pixels, and the class means."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"The onnx export needs {', '.join(missing)}: `pip install metagcd[onnx]`.")
    record, last = source.catalogue.fit(), source.catalogue.sessions()[-1]
    workspace = config_of(record)
    encoder = encoder_for(workspace, fresh=False)
    encoder.load_state_dict(source.folder.read(record.encoder))
    taken_up(learner_for(workspace, encoder, source.machine, None), source.folder, last)
    network = Features(encoder.cpu().eval()).eval()
    side = encoder.spec.size
    with whole(output) as scratch:
        _write(network, side, scratch)
        apart = _difference(network, side, scratch)
        if not apart <= config.tolerance:
            raise InputError(
                f"ONNX Runtime and torch differ by {apart:.2g}, more than `tolerance` {config.tolerance:g}."
            )
    beside = output.with_suffix(".json")
    with whole(beside) as scratch:
        scratch.write_text(json.dumps(_description(source, encoder)), encoding="utf-8")
    return f"features of {encoder.dim} numbers, at most {apart:.1g} from torch's; classes and preparation in {beside}"


def _write(network: Features, side: int, path: Path) -> None:
    with torch.no_grad(), math_attention(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            network,
            (torch.zeros(2, 3, side, side),),
            path,
            input_names=["pixels"],
            output_names=["features"],
            dynamic_shapes=({0: torch.export.Dim("images", min=1, max=4096)},),
            external_data=False,
            dynamo=True,
            verbose=False,
        )


def _difference(network: Features, side: int, path: Path) -> float:
    """Return how far the features of random pixels differ, for one image and for several."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    generator, apart = torch.Generator().manual_seed(0), 0.0
    for images in (1, 3):
        pixels = torch.randn(images, 3, side, side, generator=generator)
        with torch.no_grad():
            own = network(pixels).numpy()
        (other,) = session.run(None, {"pixels": pixels.numpy()})
        apart = max(apart, float(np.abs(own - np.asarray(other)).max()))
    return apart


def _description(source: Source, encoder: Encoder) -> dict[str, object]:
    spec, states = encoder.spec, recognised(source.catalogue.classes())
    table = table_of_states(states, encoder.dim)
    classes = [
        {"id": one.id, "name": one.name, "status": one.status, "mean": mean.tolist()}
        for one, mean in zip(states, table.means, strict=True)
    ]
    pixels = {
        "size": spec.size,
        "resized": round(spec.size / spec.crop_fraction),
        "interpolation": spec.interpolation,
        "mean": spec.mean,
        "std": spec.std,
    }
    return {"pixels": pixels, "classes": classes}
