import pytest
import torch

from metagcd.engine.runtime import Runtime, fabric_on, processor
from metagcd.errors import InputError


def test_the_processor_is_always_there_and_made_once():
    assert fabric_on("cpu").device.type == "cpu"
    assert processor() is processor() is Runtime().fabric


def test_auto_takes_a_graphics_processor_when_there_is_one():
    assert fabric_on("auto").device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("device", ["gpu", "tpu", "", "cuda:0"])
def test_an_unknown_device_is_named(device):
    with pytest.raises(InputError, match="must be auto, cpu or cuda") as error:
        fabric_on(device)
    assert str(error.value).endswith(f"got {device}.")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_graphics_processor_is_said_with_what_to_do():
    with pytest.raises(InputError, match=r"no CUDA device here.*--device cpu"):
        fabric_on("cuda")


def test_half_precision_is_used_within_autocast_alone():
    fabric, x = fabric_on("cpu", precision="bf16-mixed"), torch.ones(2, 2)
    with fabric.autocast():
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32
