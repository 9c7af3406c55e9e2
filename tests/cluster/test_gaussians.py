import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from metagcd.cluster.gaussians import Gaussians, gaussians, mixture, whitening
from metagcd.errors import InputError


def drawn(seed, *, classes=3, each=60, d=5, apart=4.0):
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    labels = np.repeat(np.arange(classes), each)
    centres = apart * rng.normal(size=(classes, d))
    return torch.from_numpy(centres[labels] + rng.normal(size=(len(labels), d)) @ shape), torch.from_numpy(labels)


def one_hot(labels, classes):
    return torch.nn.functional.one_hot(labels, classes).double()


def test_densities_are_those_of_scipy():
    x, labels = drawn(0)
    found = gaussians(x, one_hot(labels, 3), strength=2.0)
    for place in range(3):
        covariance = found.factors[place] @ found.factors[place].T
        expected = multivariate_normal(found.means[place].numpy(), covariance.numpy()).logpdf(x.numpy())
        np.testing.assert_allclose(found.log_density(x)[:, place], expected, rtol=1e-10)


def test_a_covariance_is_the_sum_written_out():
    x, labels = drawn(1)
    found = gaussians(x, one_hot(labels, 3), strength=7.0)
    for place in range(3):
        own = x[labels == place]
        scatter = 7.0 * torch.eye(5, dtype=torch.float64)
        for row in own:
            scatter += torch.outer(row - own.mean(0), row - own.mean(0))
        covariance = found.factors[place] @ found.factors[place].T
        torch.testing.assert_close(covariance, scatter / (7.0 + len(own)))


def test_whitened_classes_scatter_alike_in_every_direction():
    x, labels = drawn(2, each=4000)
    white = whitening(x, labels, dimensions=5)(x)
    means = torch.stack([white[labels == place].mean(0) for place in range(3)])
    away = white - means[labels]
    torch.testing.assert_close(away.T @ away / len(x), torch.eye(5, dtype=torch.float64), atol=0.02, rtol=0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(0.01, 100), shift=st.floats(-5, 5))
def test_the_scale_and_place_of_the_features_do_not_count(seed, scale, shift):
    x, labels = drawn(seed)
    here, there = (whitening(rows, labels, dimensions=4)(rows) for rows in (x, scale * x + shift))
    torch.testing.assert_close(torch.cdist(here, here), torch.cdist(there, there), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("each", [1, 2])
def test_with_one_or_two_images_of_a_class_all_stays_finite(each):
    x, labels = drawn(3, each=each, d=8)
    white = whitening(x, labels, dimensions=8)(x)
    assert white.isfinite().all()
    assert gaussians(white, one_hot(labels, 3), strength=1.0).log_density(white).isfinite().all()


def test_images_that_are_all_the_same_stay_finite():
    x, labels = torch.ones(6, 4, dtype=torch.float64), torch.tensor([0, 0, 0, 1, 1, 1])
    white = whitening(x, labels, dimensions=4)(x)
    assert gaussians(white, one_hot(labels, 2), strength=1.0).log_density(white).isfinite().all()


def test_a_mixture_finds_the_classes_that_are_not_known_and_leaves_the_known_as_they_are():
    x, labels = drawn(4, classes=5, each=100)
    white = whitening(x, labels, dimensions=5)(x)
    known = gaussians(white[labels < 3], one_hot(labels[labels < 3], 3), strength=5.0)
    stream = white[labels != 1]  # a known class that does not come
    start = stream[labels[labels != 1] >= 3][[0, -1]]
    found = mixture(stream, known, start, rounds=30, strength=5.0)
    predicted = known.joined(found).log_density(white).argmax(1)
    assert float((predicted == labels).double().mean()) > 0.97


def test_a_class_that_wins_no_image_stays_where_it_began():
    x, labels = drawn(5)
    white = whitening(x, labels, dimensions=5)(x)
    known = gaussians(white, one_hot(labels, 3), strength=5.0)
    far = white.new_full((1, 5), 1e4)
    assert torch.equal(mixture(white, known, far, rounds=3, strength=5.0).means, far)


@pytest.mark.parametrize("rows", [0, 4])
def test_nothing_new_or_no_image_gives_the_classes_asked_for(rows):
    known = Gaussians(torch.zeros(2, 3).double(), torch.eye(3).double().expand(2, 3, 3))
    x = torch.randn(rows, 3).double()
    assert mixture(x, known, torch.zeros(0, 3).double(), rounds=3, strength=1.0).means.shape == (0, 3)
    assert mixture(x, known, torch.ones(1, 3).double(), rounds=3, strength=1.0).log_density(x).isfinite().all()


def test_a_prior_without_weight_is_refused():
    with pytest.raises(InputError, match="strength"):
        gaussians(torch.zeros(2, 3).double(), torch.ones(2, 1).double(), strength=0.0)
