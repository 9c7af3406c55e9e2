"""What SimGCD alone promises; the network and session 0 are in test_parametric."""

import math

import contract
import pytest
import torch
from methods.parametrics import learner, seen

from metagcd.experiment.presets import load_preset
from metagcd.losses import info_nce, self_distillation
from metagcd.methods.parametric import OfflineConfig, TeacherConfig
from metagcd.methods.simgcd import SimGcdConfig, unoffline_loss


def test_a_session_descends_distillation_mean_entropy_and_contrast():
    z, given = seen()
    config = SimGcdConfig(entropy_weight=1.5, unsupervised_temperature=0.4)
    mean = (given.cosines / 0.1).softmax(dim=1).mean(dim=0).tolist()
    lacking = math.log(3) + sum(p * math.log(p) for p in mean)
    distilled = float(self_distillation(given.cosines, student_temperature=0.1, teacher_temperature=0.04))
    expected = distilled + 1.5 * lacking + float(info_nce(z, temperature=0.4))
    assert float(unoffline_loss(given, config, epoch=9)) == pytest.approx(expected, rel=1e-9)


def test_new_prototypes_begin_in_other_directions_in_every_session():
    made = learner("simgcd", online_updates=1, online={"rate": 0.0})
    made.fit_offline(contract.labelled())
    for _ in range(2):
        made.discover(contract.unlabelled(), 1)
    rows = made.network.classifier.weight.detach()
    assert len(rows) == contract.KNOWN + 2
    assert abs(float(rows[4] @ rows[5])) < 0.99


def test_the_means_of_known_classes_follow_the_encoder():
    made = learner("simgcd")
    made.fit_offline(contract.labelled())
    before = made.statistics.means
    made.discover(contract.unlabelled(), 0)
    assert not torch.equal(made.statistics.means, before)


@pytest.mark.slow
def test_without_the_mean_entropy_a_session_leaves_classes_empty_that_it_fills_with_it():
    shares = []
    for weight in (0.0, 4.0):
        made = learner("simgcd", online_updates=60, entropy_weight=weight, online={"optimiser": "adamw", "rate": 3e-3})
        made.fit_offline(contract.labelled())
        made.discover(contract.unlabelled(), 3)
        given = made.predict(contract.unlabelled().images)
        shares.append(len(set(given.tolist())))
    assert shares[0] < shares[1] == contract.KNOWN + 3


@pytest.mark.parametrize("data", ["cifar10", "cifar100", "tiny-imagenet"])
def test_presets_hold_the_published_values(data):
    found = load_preset(f"simgcd-{data}").method
    assert found == SimGcdConfig()
    assert found.offline == OfflineConfig()
    assert found.teacher == TeacherConfig(first=0.07, last=0.04, epochs=5)
