import json

import numpy as np
import pytest
import torch
from torch.nn import functional

from metagcd.errors import InputError
from metagcd.workspace.exporting import onnx as exporting
from metagcd.workspace.looking import looking

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@pytest.mark.slow
def test_onnx_runtime_gives_the_features_of_torch_for_any_number_of_images(workspace, tmp_path):
    words = workspace.export("onnx", tmp_path / "encoder.onnx")
    told = json.loads((tmp_path / "encoder.json").read_text())
    encoder = looking(workspace.folder, workspace.machine).learner.clusters.setting.encoder
    session = onnxruntime.InferenceSession(tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"])
    for images in (1, 2, 5):
        pixels = torch.randn(images, 3, told["pixels"]["size"], told["pixels"]["size"])
        (found,) = session.run(None, {"pixels": pixels.numpy()})
        with torch.no_grad():
            expected = functional.normalize(encoder.embed(pixels), dim=-1).numpy()
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert f"features of {encoder.dim} numbers" in words
    assert [one["id"] for one in told["classes"]][:3] == ["ant", "bee", "fly"]
    assert all(len(one["mean"]) == encoder.dim for one in told["classes"])


@pytest.mark.slow
def test_a_model_that_differs_too_much_is_not_written(workspace, tmp_path):
    with pytest.raises(InputError, match="tolerance"):
        workspace.export("onnx", tmp_path / "encoder.onnx", settings={"tolerance": -1.0})
    assert not list(tmp_path.iterdir())


def test_without_its_packages_one_line_says_how_to_get_them(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(InputError, match=r"needs onnx: `pip install metagcd\[onnx\]`"):
        workspace.export("onnx", tmp_path / "encoder.onnx")
