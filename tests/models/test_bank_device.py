import pytest
import torch

from metagcd.models.bank_device import ahead_on, fits

CPU = torch.device("cpu")
gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def test_on_the_processor_rows_stay_where_they_are():
    assert not fits(1, CPU)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=gpu)])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_every_batch_arrives_once_in_order(device, count):
    batches = [torch.full((3,), number) for number in range(count)]
    arrived = list(ahead_on(torch.device(device), iter(batches)))
    assert [batch.device.type for batch in arrived] == [device] * count
    assert [batch.tolist() for batch in arrived] == [batch.tolist() for batch in batches]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_graphics_processor_holds_what_leaves_room_for_training():
    device = torch.device("cuda")
    assert fits(2**20, device)
    assert not fits(torch.cuda.mem_get_info(device)[0], device)
