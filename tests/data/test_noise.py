import pytest
import torch

from metagcd.data.noise import gaussian

KEYS = torch.arange(-500, 500)


def test_numbers_have_the_moments_of_a_standard_normal():
    x = gaussian(KEYS, (3, 10, 10)).double()
    assert x.isfinite().all()
    assert x.mean().item() == pytest.approx(0, abs=0.01)
    assert x.var().item() == pytest.approx(1, abs=0.015)
    assert (x**4).mean().item() == pytest.approx(3, abs=0.12)


def test_an_images_noise_depends_on_its_key_alone():
    order = torch.randperm(len(KEYS), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(gaussian(KEYS[order], (2, 4)), gaussian(KEYS, (2, 4))[order], rtol=0, atol=0)


def test_keys_and_places_do_not_share_numbers():
    x = gaussian(KEYS, (300,)).double()
    # Each correlation is about normal with deviation 1 / sqrt(size); the largest of 10^6 stays below 6 deviations.
    between_keys = torch.corrcoef(x).fill_diagonal_(0).abs().max().item()
    between_places = torch.corrcoef(x.T).fill_diagonal_(0).abs().max().item()
    assert between_keys < 6 / 300**0.5
    assert between_places < 6 / 1000**0.5
