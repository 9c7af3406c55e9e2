import numpy as np
import pytest
import torch

from metagcd.methods.classifier import Classifier, random_rows
from metagcd.seeds import Seeds


def grown(rows):
    classifier = Classifier(rows.shape[1])
    classifier.grow(rows)
    return classifier


def test_its_logits_are_the_cosines_of_features_and_prototypes():
    rows, features = torch.randn(3, 5, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    classifier = grown(rows.float()).double()
    with torch.no_grad():
        classifier.weight.copy_(rows)
    for i, feature in enumerate(features):
        for c, row in enumerate(rows):
            cosine = float(sum(feature * row) / (sum(feature**2) * sum(row**2)) ** 0.5)
            assert float(classifier(features).detach()[i, c]) == pytest.approx(cosine, abs=1e-12)


def test_without_a_class_there_are_no_logits():
    assert Classifier(5)(torch.randn(4, 5)).shape == (4, 0)


def test_growing_leaves_the_rows_that_were_there_as_they_are():
    first, second = torch.randn(2, 5), torch.randn(3, 5)
    classifier = grown(first)
    classifier.grow(second)
    assert classifier.classes == 5
    assert torch.equal(classifier.weight.detach(), torch.cat([first, second]))
    assert classifier.weight.requires_grad


@pytest.mark.parametrize("classes", [0, 2, 4, 7])
def test_resized_it_takes_up_the_state_of_one_of_that_size(classes):
    other, classifier = grown(torch.randn(classes, 5)), grown(torch.randn(4, 5))
    classifier.resize(classes)
    classifier.load_state_dict(other.state_dict())
    assert torch.equal(classifier.weight, other.weight)


def test_the_class_of_an_image_is_the_one_with_the_nearest_prototype():
    rows = torch.eye(3, 5)
    features = np.eye(3, 5, dtype=np.float32)[[2, 0, 1, 1]] + 0.1
    np.testing.assert_array_equal(grown(rows).classify(features), [2, 0, 1, 1])


def test_random_rows_are_unit_rows_that_the_seed_decides():
    first, again, other = (random_rows(Seeds(seed), 4, 6) for seed in (0, 0, 1))
    torch.testing.assert_close(first.norm(dim=1), torch.ones(4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
