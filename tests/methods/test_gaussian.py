import contract
import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from metagcd.data.rows import select
from metagcd.errors import InputError
from metagcd.methods import build
from metagcd.methods.gaussian import GaussianConfig

UNTRAINED = {"offline_epochs": 0, "head": {"hidden": 8, "bottleneck": 4, "width": 8}}


def fitted(**config):
    learner = build("gaussian", encoder=contract.encoder(), **(UNTRAINED | config))
    learner.fit_offline(contract.labelled())
    return learner


def test_its_answer_is_the_class_of_the_largest_density():
    learner, images = fitted(dimensions=6), contract.probes()
    learner.discover(contract.unlabelled(), 1)
    state = learner.state_dict()
    x = (learner.embed(images).astype(np.float64) - state["space.centre"].numpy()) @ state["space.axes"].numpy()
    densities = [
        multivariate_normal(mean.numpy(), (factor @ factor.T).numpy()).logpdf(x)
        for mean, factor in zip(state["gaussians.means"], state["gaussians.factors"], strict=True)
    ]
    np.testing.assert_array_equal(learner.predict(images), np.argmax(densities, axis=0))


def test_the_gaussians_of_classes_met_before_stay_as_they_are():
    learner = fitted()
    before = learner.state_dict()
    learner.discover(contract.unlabelled(), 2)
    learner.discover(contract.unlabelled(), 0)
    after = learner.state_dict()
    assert torch.equal(after["gaussians.means"][: contract.KNOWN], before["gaussians.means"])
    assert torch.equal(after["gaussians.factors"][: contract.KNOWN], before["gaussians.factors"])
    assert len(after["gaussians.means"]) == len(after["means"]) == contract.KNOWN + 2


def test_it_tells_the_classes_it_was_taught_apart():
    learner, labelled = fitted(strength=10.0), contract.labelled()
    assert (learner.predict(labelled.images) == labelled.labels).mean() > 0.8


def test_an_image_is_given_the_same_class_alone_and_among_others():
    learner, images = fitted(), contract.probes()
    together = learner.predict(images)
    np.testing.assert_array_equal(learner.predict(select(images, np.arange(5))), together[:5])


@pytest.mark.parametrize("values", [{"dimensions": 0}, {"strength": 0.0}, {"rounds": -1}])
def test_values_that_describe_no_gaussian_are_refused(values):
    with pytest.raises(InputError, match="at least 1"):
        GaussianConfig(**values)
