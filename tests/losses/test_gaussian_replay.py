import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metagcd.losses.gaussian_replay import FLOOR, class_deviations, drawn_from_classes


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@given(rows=st.integers(0, 12), classes=st.integers(1, 4), seed=st.integers(0, 99))
def test_deviations_are_those_of_plain_loops(rows, classes, seed):
    features = drawn(rows, 3, seed=seed)
    labels = torch.randint(classes, (rows,), generator=torch.Generator().manual_seed(seed))
    found = class_deviations(features, labels, n_classes=classes)
    for c in range(classes):
        own = [features[i] for i in range(rows) if int(labels[i]) == c]
        for dim in range(3):
            values = [float(row[dim]) for row in own]
            if len(values) < 2:
                assert float(found[c, dim]) == 0
                continue
            mean = sum(values) / len(values)
            variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
            assert float(found[c, dim]) == pytest.approx(math.sqrt(variance + FLOOR))


def test_what_is_drawn_has_the_means_and_deviations_of_its_classes():
    means, deviations = 3 * drawn(3, 4), drawn(3, 4, seed=1).abs() + 0.1
    features, classes = drawn_from_classes(
        means, deviations, per_class=4000, generator=torch.Generator().manual_seed(0)
    )
    assert classes.bincount().tolist() == [4000] * 3
    for c in range(3):
        own = features[classes == c]
        torch.testing.assert_close(own.mean(dim=0), means[c], atol=0.1, rtol=0)
        torch.testing.assert_close(own.std(dim=0), deviations[c], atol=0.1, rtol=0)


def test_the_generator_alone_decides_what_is_drawn():
    means, deviations = drawn(2, 3), drawn(2, 3, seed=1).abs()
    first, again, other = (
        drawn_from_classes(means, deviations, per_class=5, generator=torch.Generator().manual_seed(seed))[0]
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_without_deviation_every_draw_is_the_mean_and_without_classes_there_is_none():
    means = drawn(2, 3)
    generator = torch.Generator().manual_seed(0)
    features, classes = drawn_from_classes(means, torch.zeros_like(means), per_class=2, generator=generator)
    assert torch.equal(features, means[classes])
    features, classes = drawn_from_classes(means[:0], means[:0], per_class=2, generator=generator)
    assert (features.shape, classes.shape) == ((0, 3), (0,))
