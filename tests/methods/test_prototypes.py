import contract
import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from metagcd.errors import InputError
from metagcd.methods import build
from metagcd.methods.prototypes import PrototypesConfig, far_rows

UNTRAINED = {"offline_epochs": 0, "head": {"hidden": 8, "bottleneck": 4, "width": 8}}


def fitted(**config):
    learner = build("prototypes", encoder=contract.encoder(), **(UNTRAINED | config))
    learner.fit_offline(contract.labelled())
    return learner


def test_far_rows_are_those_outside_of_every_radius():
    means = torch.tensor([[0.0, 0.0], [4.0, 0.0]])
    features = torch.tensor([[0.5, 0.0], [2.0, 0.0], [4.0, 0.9], [4.0, 1.1], [0.0, 1.0]])
    far = [
        row
        for row, feature in enumerate(features.tolist())
        if all(sum((a - b) ** 2 for a, b in zip(feature, mean, strict=True)) > 1 for mean in means.tolist())
    ]
    assert far_rows(features, means, radius=1.0, least=0) == far == [1, 3]


@pytest.mark.parametrize(("least", "rows"), [(1, [3]), (2, [1, 3]), (3, [1, 2, 3])])
def test_there_are_never_fewer_far_rows_than_asked_for(least, rows):
    features = torch.tensor([[0.0], [2.0], [1.0], [3.0]])
    assert far_rows(features, torch.zeros(1, 1), radius=2.5, least=least) == rows


def test_more_classes_than_images_are_refused():
    with pytest.raises(InputError, match="5 new classes in 4 images"):
        far_rows(torch.zeros(4, 2), torch.zeros(1, 2), radius=1.0, least=5)


def test_the_radius_leaves_the_share_of_labelled_images_inside_that_is_asked_for():
    for share in (0.5, 0.9, 1.0):
        learner, labelled = fitted(far=share), contract.labelled()
        distance = np.linalg.norm(
            learner.embed(labelled.images) - learner.statistics.means.numpy()[labelled.labels], axis=1
        )
        inside = (distance <= float(learner.state_dict()["radius"]) + 1e-6).mean()
        assert inside == pytest.approx(share, abs=1 / len(distance) + 1e-9)


def test_means_of_known_classes_stay_as_they_are():
    learner = fitted()
    before = learner.statistics.means.clone()
    learner.discover(contract.unlabelled(), 2)
    assert torch.equal(learner.statistics.means[: contract.KNOWN], before)
    assert learner.n_classes == len(learner.statistics.means) == contract.KNOWN + 2


def test_new_means_are_found_where_no_class_is_known():
    generator = torch.Generator().manual_seed(0)
    centres = normalize(torch.randn(4, 8, generator=generator), dim=1)
    features = normalize(centres.repeat_interleave(50, 0) + 0.05 * torch.randn(200, 8, generator=generator), dim=1)
    far = far_rows(features, centres[:3], radius=0.4, least=1)
    assert set(far) == set(range(150, 200))


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InputError, match="far"):
        PrototypesConfig(far=share)
