"""What SimGCD and Happy share: the network, its session 0, and the state they take from one another."""

import math

import contract
import numpy as np
import pytest
import torch
from methods.parametrics import learner, network, seen
from torch.nn import functional

from metagcd.data.rows import select
from metagcd.engine.training import Optimisation
from metagcd.experiment.config import ReadoutConfig
from metagcd.experiment.offline import offline_fields
from metagcd.experiment.presets import load_preset
from metagcd.experiment.scoring import Examination, read_off
from metagcd.losses import info_nce, self_distillation, supcon
from metagcd.methods.parametric import OfflineConfig, ProjectionConfig, TeacherConfig, offline_loss
from metagcd.seeds import Seeds
from metagcd.types import LabelledSet

both = pytest.mark.parametrize("name", ["simgcd", "happy"])


def test_the_network_shows_unit_features_similarities_of_projections_and_cosines_with_prototypes():
    made, tokens = network(), torch.randn(6, 5, 16, generator=Seeds(0).torch("tokens"))
    with torch.no_grad():
        found, h = made(tokens, 3), made.tail(tokens)
        z, rows = made.projection(h), made.classifier.weight.clone()
    torch.testing.assert_close(found.features, functional.normalize(h, dim=1))
    torch.testing.assert_close(found.similarity, z @ z.T)
    for i in range(6):
        for c, row in enumerate(rows):
            assert float(found.cosines[i, c]) == pytest.approx(float(functional.cosine_similarity(h[i], row, dim=0)))


def test_session_0_descends_classes_and_contrasts_each_with_and_without_labels():
    z, given = seen()
    classes, config = torch.tensor([0, 2, 1, 0]), OfflineConfig(balance=0.3, entropy_weight=1.7)
    rows = (given.cosines / 0.1).softmax(dim=1)
    told = -sum(math.log(rows[i, classes[i % 4]]) for i in range(8)) / 8
    mean = rows.mean(dim=0).tolist()
    lacking = math.log(3) + sum(p * math.log(p) for p in mean)
    distilled = float(self_distillation(given.cosines, student_temperature=0.1, teacher_temperature=0.07))
    without = distilled + 1.7 * lacking + float(info_nce(z, temperature=1.0))
    expected = 0.7 * without + 0.3 * (told + float(supcon(z, classes, temperature=0.07)))
    assert float(offline_loss(given, classes, config, epoch=0)) == pytest.approx(expected, rel=1e-9)


def test_the_teacher_grows_sharper_from_epoch_to_epoch():
    _, given = seen()
    config = OfflineConfig(teacher=TeacherConfig(first=0.2, last=0.02, epochs=4))
    losses = [float(offline_loss(given, torch.tensor([0, 2, 1, 0]), config, epoch=epoch)) for epoch in range(6)]
    assert len(set(losses)) == 4
    assert losses[3] == losses[4] == losses[5]
    assert config.teacher.at(0) == 0.2
    assert config.teacher.at(5) == 0.02


TRAINED = {"epochs": 20, "optimisation": {"optimiser": "adamw", "rate": 0.01, "schedule": "constant"}}


@both
def test_the_head_learns_the_labelled_classes_under_their_ids(name):
    made, labelled = learner(name, offline=TRAINED), contract.labelled()
    made.fit_offline(LabelledSet(images=labelled.images, labels=labelled.labels * 3 + 5))
    assert made.n_classes == made.network.classifier.classes == contract.KNOWN
    assert (made.predict(labelled.images) == labelled.labels).mean() > 0.8


@both
def test_fitting_again_begins_with_no_class(name):
    made = learner(name)
    made.fit_offline(contract.labelled())
    made.fit_offline(contract.labelled())
    assert made.network.classifier.classes == contract.KNOWN


@both
def test_the_head_is_read_out_and_answers_image_by_image(name):
    made, images = learner(name), contract.probes()
    made.fit_offline(contract.labelled())
    made.discover(contract.unlabelled(), 1)
    truth = np.zeros(len(images), dtype=np.int64)
    examination = Examination(images=images, truth=truth, session=1, initial=4, before=4, classes=5)
    head, means = read_off(made, examination, ReadoutConfig(names=("head", "prototype")), seed=0)
    np.testing.assert_array_equal(head.predicted, made.predict(images))
    np.testing.assert_array_equal(made.predict(select(images, np.arange(7))), head.predicted[:7])
    np.testing.assert_array_equal(means.predicted, made.statistics.classify(made.embed(images)))


@both
def test_new_classes_keep_the_mean_of_the_images_that_the_head_gives_them(name):
    made, unlabelled = learner(name), contract.unlabelled()
    made.fit_offline(contract.labelled())
    made.discover(unlabelled, 2)
    features, given = made.embed(unlabelled.images), made.predict(unlabelled.images)
    assert made.statistics.means.shape == (contract.KNOWN + 2, 16)
    for label in (4, 5):
        own = features[given == label]
        row = functional.normalize(made.network.classifier.weight.detach(), dim=1)[label]
        expected = own.mean(axis=0) if len(own) else row
        np.testing.assert_allclose(made.statistics.means[label], expected, atol=1e-5)
        assert int(made.statistics.counts[label]) == len(own)


@both
def test_a_session_begins_where_the_last_one_ended(name):
    made = learner(name, online_updates=1, online={"rate": 0.0})
    made.fit_offline(contract.labelled())
    before = made.network.classifier.weight.detach().clone()
    made.discover(contract.unlabelled(), 2)
    assert torch.equal(made.network.classifier.weight[:4], before)
    torch.testing.assert_close(made.network.classifier.weight[4:].norm(dim=1), torch.ones(2))


@both
@pytest.mark.parametrize("images", [1, 3, 20])
def test_a_session_may_be_smaller_than_a_batch_and_hold_no_known_class(name, images):
    made, unlabelled = learner(name), contract.unlabelled()
    made.fit_offline(contract.labelled())
    part = select(unlabelled.images, np.arange(images))
    made.discover(type(unlabelled)(images=part), 1)
    assert all(value.isfinite().all() for value in made.state_dict().values() if value.is_floating_point())
    assert made.n_classes == contract.KNOWN + 1


@both
def test_no_class_may_come_and_then_one(name):
    made = learner(name)
    made.fit_offline(contract.labelled())
    made.discover(contract.unlabelled(), 0)
    made.discover(contract.unlabelled(), 1)
    assert made.n_classes == made.network.classifier.classes == len(made.statistics.means) == contract.KNOWN + 1


def test_session_0_of_one_is_the_first_half_of_the_other():
    simgcd, happy = learner("simgcd"), learner("happy")
    simgcd.fit_offline(contract.labelled())
    happy.fit_encoder(contract.labelled())
    assert contract.name_of(simgcd.state_dict()) == contract.name_of(happy.encoder_state())
    whole, taker = learner("happy"), learner("happy")
    whole.fit_offline(contract.labelled())
    taker.load_encoder_state(simgcd.state_dict())
    taker.finish_offline(contract.labelled())
    assert contract.name_of(taker.state_dict()) == contract.name_of(whole.state_dict())
    fresh = learner("simgcd")
    fresh.load_state_dict(happy.encoder_state())
    assert contract.name_of(fresh.state_dict()) == contract.name_of(simgcd.state_dict())


@pytest.mark.parametrize("data", ["digits", "cifar10", "cifar100", "tiny-imagenet", "cifar100-happy5"])
def test_their_presets_learn_session_0_alike(data):
    first, second = (offline_fields(load_preset(f"{name}-{data}")) for name in ("simgcd", "happy"))
    assert first is not None
    assert first == second


def test_session_0_is_named_by_all_that_it_depends_on():
    config, projection = OfflineConfig(), ProjectionConfig()
    keys = [
        config.key(projection),
        config.key(ProjectionConfig(bottleneck=7)),
        OfflineConfig(epochs=3).key(projection),
        OfflineConfig(teacher=TeacherConfig(last=0.01)).key(projection),
        OfflineConfig(optimisation=Optimisation(rate=0.3)).key(projection),
    ]
    assert len({str(key) for key in keys}) == len(keys)
