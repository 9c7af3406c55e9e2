import numpy as np
import pytest
import torch
from models import banks
from models.test_bank_fill import filled
from models.test_bank_source import source

from metagcd.data.loader import Loading
from metagcd.models.bank import Bank, DamagedError


@pytest.fixture
def opened(tmp_path):
    """A bank of ten images in blocks of three, and what it was made of."""
    made = source(banks.pixels(10), dtype="bfloat16")
    files, layout = filled(tmp_path, made)
    return made, Bank(
        files=files,
        layout=layout,
        dtype=made.dtype,
        checked=np.zeros(layout.blocks, dtype=np.bool_),
        mapped=files.mapped(layout),
        checksums=files.finished(layout),
    )


def test_rows_come_in_the_order_in_which_they_are_asked_for(opened):
    made, bank = opened
    rows = np.array([7, 0, 9, 7])
    (expected,) = made.outputs([rows], (3, 1))
    found = bank.read(rows, (2, 0))
    assert found.shape == (8, 5, 8)
    torch.testing.assert_close(found, expected, atol=1e-2, rtol=2**-7)
    assert torch.equal(found[0], found[3])


def test_batches_and_resident_rows_are_what_is_read(opened):
    _, bank = opened
    order = [np.array([4, 2]), np.array([9]), np.array([0, 1, 2])]
    held = bank.resident(torch.device("cpu"))
    for rows, batch in zip(order, bank.batches(order, (1, 2), Loading(threads=2)), strict=True):
        assert torch.equal(batch, bank.read(rows, (1, 2)))
        assert torch.equal(batch, bank.gathered(held, rows, (1, 2)))


def test_a_block_is_compared_when_it_is_first_read_and_not_again(opened):
    _, bank = opened
    bank.read(np.array([4]), (0,))
    assert bank.checked.tolist() == [False, True, False, False]
    bank.mapped[4] ^= 1  # in this process's memory alone
    bank.read(np.array([4]), (0,))
    bank.mapped[9] ^= 1
    with pytest.raises(DamagedError) as caught:
        bank.read(np.array([4, 9, 0]), (0,))
    assert caught.value.blocks == [3]
    assert bank.checked.tolist() == [True, True, False, False]


def test_a_full_check_names_all_damaged_blocks(opened):
    _, bank = opened
    bank.mapped[[0, 9]] ^= 4
    for check in (bank.check, lambda: bank.resident(torch.device("cpu"))):
        with pytest.raises(DamagedError):
            check()
    with pytest.raises(DamagedError) as caught:
        bank.check()
    assert caught.value.blocks == [0, 3]


def test_a_damaged_block_stops_the_batches_at_its_first_use(opened):
    _, bank = opened
    bank.mapped[9] ^= 1
    batches = bank.batches([np.array([0]), np.array([9]), np.array([1])], (0,), Loading(threads=1))
    assert len(next(batches)) == 1
    with pytest.raises(DamagedError):
        next(batches)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_rows_on_a_graphics_processor_are_those_of_the_disk(opened):
    _, bank = opened
    device = torch.device("cuda")
    order = [np.array([4, 2]), np.array([9]), np.array([0, 1, 2])]
    held = bank.resident(device)
    for rows, batch in zip(order, bank.batches(order, (1, 2), Loading(device=device)), strict=True):
        assert batch.device.type == "cuda"
        assert torch.equal(batch.cpu(), bank.read(rows, (1, 2)))
        assert torch.equal(bank.gathered(held, rows, (1, 2)), batch)
