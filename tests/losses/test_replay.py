"""Hardness, the shared spread, drawn features and the distance features may move, each against plain loops."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn import functional

from metagcd.losses import drawn_features, feature_distance, hardness, radius


def rows(n: int, d: int = 4, seed: int = 0) -> Tensor:
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def cosine(a: list[float], b: list[float]) -> float:
    def dot(u: list[float], v: list[float]) -> float:
        return sum(x * y for x, y in zip(u, v, strict=True))

    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


@pytest.mark.parametrize("c", [2, 3, 7])
def test_hardness_is_the_softmax_of_the_mean_cosine_with_the_other_classes(c: int) -> None:
    means = rows(c).tolist()
    each = [sum(cosine(means[i], means[j]) for j in range(c) if j != i) / (c - 1) for i in range(c)]
    terms = [math.exp(value / 0.1) for value in each]
    found = hardness(rows(c), temperature=0.1).tolist()
    assert found == pytest.approx([term / sum(terms) for term in terms], rel=1e-10)


def test_classes_that_resemble_others_are_drawn_more_often() -> None:
    means = torch.tensor([[1.0, 0.1, 0.0], [1.0, -0.1, 0.0], [0.0, 0.0, 1.0]])
    frequency = hardness(means, temperature=0.1)
    assert frequency[0] == pytest.approx(float(frequency[1]))
    assert frequency[0] > 10 * frequency[2]
    assert hardness(means, temperature=1e6).tolist() == pytest.approx([1 / 3] * 3, rel=1e-4)


def test_one_class_alone_is_always_drawn() -> None:
    assert hardness(rows(1), temperature=0.1).tolist() == [1.0]


def test_the_spread_is_the_mean_variance_of_unit_features_about_their_class_means() -> None:
    groups = [functional.normalize(rows(6, seed=seed) + 2, dim=1) for seed in range(3)]
    total = 0.0
    for group in groups:
        mean = [sum(row[k] for row in group.tolist()) / len(group) for k in range(4)]
        trace = sum((row[k] - mean[k]) ** 2 for row in group.tolist() for k in range(4)) / len(group)
        total += trace / 4
    found = radius(torch.stack([group.mean(dim=0) for group in groups]))
    assert found.item() == pytest.approx(math.sqrt(total / len(groups)), rel=1e-10)


def test_equal_features_have_no_spread_whatever_rounding_does() -> None:
    means = functional.normalize(rows(3).float(), dim=1) * (1 + 1e-7)
    assert radius(means).item() == pytest.approx(0, abs=1e-3)
    assert radius(means).isfinite()


def test_no_class_has_no_spread() -> None:
    with pytest.raises(ValueError, match="needs the mean of a class"):
        radius(torch.zeros(0, 4))


def test_features_are_drawn_around_unit_means_with_the_spread_that_is_asked_for() -> None:
    means = 3 * torch.eye(2, 50)
    features, classes = drawn_features(means, torch.ones(2) / 2, radius=0.2, count=4000, generator=generator())
    for label in (0, 1):
        own = features[classes == label]
        assert (own.mean(dim=0) - means[label] / 3).abs().max() < 0.02
        assert own.std().item() == pytest.approx(math.sqrt(0.2**2 + 0.02), rel=0.05)
    plain, same = drawn_features(means, torch.ones(2) / 2, radius=0.0, count=10, generator=generator())
    assert torch.equal(plain, means[same] / 3)


def test_classes_are_drawn_as_often_as_they_are_to_be() -> None:
    frequency = torch.tensor([0.7, 0.0, 0.3])
    _, classes = drawn_features(rows(3), frequency, radius=0.1, count=5000, generator=generator())
    shares = torch.bincount(classes, minlength=3) / 5000
    assert shares.tolist() == pytest.approx(frequency.tolist(), abs=0.02)


def test_the_generator_decides_what_is_drawn() -> None:
    first, again, other = (
        drawn_features(rows(3), torch.ones(3), radius=0.1, count=9, generator=generator(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])


def test_the_distance_is_the_mean_over_views_of_the_squared_difference() -> None:
    one, other = rows(5), rows(5, seed=1)
    total = 0.0
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        total += sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    assert feature_distance(one, other).item() == pytest.approx(total / 5, rel=1e-12)
    assert feature_distance(one, one) == 0
    assert gradcheck(lambda x: feature_distance(x, other), (one.requires_grad_(),))


def test_a_temperature_must_be_positive() -> None:
    with pytest.raises(ValueError, match="`temperature` must be above 0"):
        hardness(rows(2), temperature=0.0)
