"""What the learners promise that share an encoder with `gcd` and have a classifier on top."""

import contract
import numpy as np
import pytest
import torch
from methods.parametrics import learner

from metagcd.data.rows import select
from metagcd.methods.learner import LearnsInTwo
from metagcd.types import UnlabelledSet

NAMES = ("rankstats", "frost", "gm")
every_one = pytest.mark.parametrize("name", NAMES)


def images_of(classes, take):
    """The first images of each of these digits, in the unlabelled part of the contract's data."""
    data = contract._data()
    return contract.Watched(select(data.train, contract._of_classes(data.train_labels, classes, skip=20, take=take)))


@every_one
def test_its_encoder_after_session_0_is_that_of_gcd_to_the_bit(name):
    gcd, made = learner("gcd"), learner(name)
    gcd.fit_offline(contract.labelled())
    assert isinstance(made, LearnsInTwo)
    made.fit_encoder(contract.labelled())
    assert contract.name_of(made.encoder_state()) == contract.name_of(gcd.state_dict())
    assert made.config.offline_key() == gcd.config.offline_key()


@every_one
def test_with_the_encoder_of_gcd_it_ends_session_0_as_with_its_own(name):
    gcd, other, own = learner("gcd"), learner(name), learner(name)
    gcd.fit_offline(contract.labelled())
    other.load_encoder_state(gcd.state_dict())
    other.finish_offline(contract.labelled())
    own.fit_offline(contract.labelled())
    assert contract.name_of(other.state_dict()) == contract.name_of(own.state_dict())


@every_one
def test_after_session_0_the_classifier_answers_with_the_nearest_mean(name):
    made = learner(name)
    made.fit_offline(contract.labelled())
    features = made.embed(contract.probes())
    cosines = features @ torch.nn.functional.normalize(made.statistics.means, dim=1).numpy().T
    np.testing.assert_array_equal(made.predict(contract.probes()), cosines.argmax(axis=1))


@every_one
def test_classes_keep_their_ids_and_new_ones_follow(name):
    made = learner(name, online={"rate": 0.0})
    made.fit_offline(contract.labelled())
    before = made.network.classifier.weight.detach().clone()
    made.discover(contract.unlabelled(), 2)
    assert made.network.classifier.classes == made.n_classes == contract.KNOWN + 2
    torch.testing.assert_close(made.network.classifier.weight[: contract.KNOWN].detach(), before)


@every_one
@pytest.mark.parametrize(
    ("images", "novel"),
    [
        (lambda: images_of(range(contract.KNOWN), 6), 0),  # nothing new
        (lambda: images_of(range(contract.KNOWN), 6), 1),  # nothing new, though said to be
        (lambda: images_of(range(4, 6), 10), 2),  # nothing known
        (lambda: images_of(range(4, 5), 10), 1),  # one novel class and nothing else
        (lambda: images_of(range(5), 1), 1),  # fewer images than a batch has
        (lambda: images_of(range(1), 1), 1),  # one image
        (lambda: images_of(range(2), 1), 3),  # more new classes than images
    ],
)
def test_sessions_of_every_kind_leave_a_learner_that_is_sound(name, images, novel):
    made = learner(name)
    made.fit_offline(contract.labelled())
    for _ in range(2):
        made.discover(UnlabelledSet(images=images()), novel)
    assert made.n_classes == contract.KNOWN + 2 * novel
    assert all(torch.isfinite(tensor).all() for tensor in made.state_dict().values())
    assert set(made.predict(contract.probes())) <= set(range(made.n_classes))


@every_one
def test_the_projection_head_is_carried_only_where_it_is_trained_online(name):
    made = learner(name)
    made.fit_offline(contract.labelled())
    assert any("head." in key for key in made.state_dict()) == (name == "gm")


def test_a_network_without_a_projection_head_says_so():
    made = learner("rankstats")
    with pytest.raises(TypeError, match="no projection head"):
        made.network.similarity(torch.zeros(2, 16))
