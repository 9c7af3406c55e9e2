import pytest
import torch

from metagcd.cluster import drifted, nearest, prototypes
from metagcd.cluster import prototypes as means_of
from metagcd.errors import InputError


def rows(count, seed=0, d=4):
    return torch.randn(count, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_prototypes_are_class_means_and_zero_without_images():
    features, labels = rows(9), torch.tensor([0, 2, 0, 2, 2, 0, 0, 2, 2])
    means, counts = prototypes(features, labels, n_classes=3)
    torch.testing.assert_close(means[0], features[labels == 0].mean(0))
    torch.testing.assert_close(means[2], features[labels == 2].mean(0))
    assert means[1].tolist() == [0, 0, 0, 0]
    assert counts.tolist() == [4, 0, 5]


def test_class_ids_out_of_range_are_refused():
    with pytest.raises(InputError, match=r"from 0 to 3; they must lie in \[0, 2\]"):
        means_of(rows(2), torch.tensor([0, 3]), n_classes=3)


def test_each_image_goes_to_the_nearest_mean():
    features, means = rows(40), rows(5, seed=1)
    assert torch.equal(nearest(features, means), torch.cdist(features, means).argmin(1))


def test_drift_equals_the_weighted_sum_written_out():
    means, before, after = rows(3, 1), rows(7, 2), rows(7, 3)
    found = drifted(means, before, after, bandwidth=0.8)
    for mean, moved in zip(means, found, strict=True):
        weights = [torch.exp(-(mean - b).square().sum() / (2 * 0.8**2)) for b in before]
        step = sum(w * (a - b) for w, a, b in zip(weights, after, before, strict=True)) / sum(weights)
        torch.testing.assert_close(moved, mean + step)


def test_a_common_displacement_moves_every_mean_by_it():
    means, before = rows(3, 1), rows(50, 2)
    torch.testing.assert_close(drifted(means, before, before + 2.5, bandwidth=0.1), means + 2.5)


def test_a_mean_far_from_every_image_follows_the_nearest():
    means, before = torch.tensor([[1e3, 0.0]]), torch.tensor([[10.0, 0.0], [0.0, 0.0]])
    after = before + torch.tensor([[0.0, 7.0], [0.0, -7.0]])
    assert drifted(means, before, after, bandwidth=0.5).tolist() == [[1e3, 7.0]]


def test_no_images_or_no_change_leave_the_means():
    means, before = rows(3, 1), rows(5, 2)
    assert torch.equal(drifted(means, before[:0], before[:0], bandwidth=1.0), means)
    torch.testing.assert_close(drifted(means, before, before, bandwidth=1.0), means)


def test_blocks_of_images_change_nothing(monkeypatch):
    means, before, after = rows(3, 1), rows(30, 2), rows(30, 3)
    whole = drifted(means, before, after, bandwidth=0.7)
    monkeypatch.setattr("metagcd.cluster.points.BLOCK", 12)
    torch.testing.assert_close(drifted(means, before, after, bandwidth=0.7), whole)
