"""What FRoST alone promises; its session 0 is in test_classifying."""

import math

import contract
import numpy as np
import pytest
import torch
from methods import stream
from methods.parametrics import learner
from torch.nn import functional

from metagcd.engine.feed import Batch
from metagcd.experiment.presets import load_preset
from metagcd.losses import drawn_from_classes
from metagcd.methods.frost import Before, FrostConfig, filled, replay_loss, session_loss
from metagcd.methods.pairing import PairingConfig, pairing_loss
from metagcd.seeds import Seeds


@pytest.fixture
def made():
    one = learner("frost")
    one.fit_offline(contract.labelled())
    one.network.classifier.grow(torch.randn(1, 16, generator=Seeds(5).torch("row")))
    return one


def batch(images=3, step=0):
    tokens = torch.randn(2 * images, 5, 16, generator=Seeds(0).torch("tokens"))
    return Batch(np.arange(images), tokens, step)


def before(classes=4):
    means, deviations = torch.randn(2, classes, 16, generator=Seeds(1).torch("means")).unbind()
    return Before(tail=contract.encoder().tail, means=means, deviations=deviations.abs(), seeds=Seeds(2))


def lived(**tables):
    one = learner("frost", **{**stream.SHORT, **tables})
    one.fit_offline(stream.labelled())
    known = stream.known_accuracy(one)
    one.discover(stream.session()[0], 1)
    return known, stream.known_accuracy(one)


@pytest.mark.slow
def test_replay_keeps_what_was_known_and_without_it_that_is_lost():
    known, lost = lived(replay=0.0, distillation=0.0)
    assert lost < known - 0.2
    assert lived(replay=1.0, distillation=0.0)[1] > lost + 0.1
    assert lived(replay=1.0, distillation=10.0)[1] > known - 0.1


def test_replay_is_the_cross_entropy_of_drawn_features_over_all_classes(made):
    loss = float(replay_loss(made.network, before(), 5, per_class=2).detach())
    kept = before()
    features, classes = drawn_from_classes(kept.means, kept.deviations, per_class=2, generator=Seeds(2).torch(5))
    total = 0.0
    for feature, label in zip(features, classes.tolist(), strict=True):
        terms = [
            math.exp(float(functional.cosine_similarity(feature, row, dim=0).detach()) / made.config.temperature)
            for row in made.network.classifier.weight
        ]
        total -= math.log(terms[label] / sum(terms))
    assert made.network.classifier.classes == 5
    assert loss == pytest.approx(total / 8, rel=1e-5)


def test_the_number_of_the_update_decides_what_is_replayed(made):
    losses = [float(replay_loss(made.network, before(), step, per_class=3).detach()) for step in (3, 3, 4)]
    assert losses[0] == losses[1] != losses[2]


def test_a_session_descends_the_sum_of_its_parts(made):
    kept, given, steps = before(), batch(step=3), 8
    config = FrostConfig(
        self_training=0.7, replay=0.8, distillation=0.5, replayed=2, pairing=PairingConfig(rise=1.0, top=2)
    )
    with torch.no_grad():
        for parameter in made.network.tail.parameters():
            parameter.mul_(1.1)
        features = made.network.features(given.tokens, 3)
        logits, was = made.network.logits(features), functional.normalize(kept.tail(given.tokens), dim=1)
        risen = math.exp(-5 * (1 - 3 / 8) ** 2)
        own = float(pairing_loss(features, logits, config.pairing, risen=risen))
        replayed = float(replay_loss(made.network, kept, 3, per_class=2))
        loss = float(session_loss(made.network, given, kept, config, steps=steps))
    certain = sum(-float(row.log_softmax(dim=0).max()) for row in logits) / 6
    moved = sum(float(((a - b) ** 2).sum()) for a, b in zip(features, was, strict=True)) / 6
    assert moved > 0
    assert loss == pytest.approx(own + risen * 0.7 * certain + 0.8 * replayed + 0.5 * moved, rel=1e-5)


def test_the_encoder_as_it_was_is_not_trained(made):
    kept = made._before(Seeds(0))
    session_loss(made.network, batch(), kept, made.config, steps=4).backward()
    assert all(parameter.grad is None for parameter in kept.tail.parameters())
    assert all(parameter.grad is not None for parameter in made.network.parameters())


def test_mean_and_spread_of_the_known_classes_stay_as_they_were_stored():
    made, labelled = learner("frost", online={"rate": 0.1}), contract.labelled()
    made.fit_offline(labelled)
    features, means, spread = made.embed(labelled.images), made.statistics.means, made.deviations
    for label in range(contract.KNOWN):
        own = features[labelled.labels == label]
        np.testing.assert_allclose(spread[label], np.sqrt(own.var(axis=0, ddof=1) + 1e-5), rtol=1e-4)
    made.discover(contract.unlabelled(), 1)
    assert torch.equal(made.statistics.means[: contract.KNOWN], means)
    assert torch.equal(made.deviations[: contract.KNOWN], spread)
    assert made.deviations.shape == (contract.KNOWN + 1, 16)
    assert torch.equal(made.state_dict()["deviations"], made.deviations)


def test_a_class_without_a_spread_of_its_own_has_the_mean_of_the_others():
    rows = torch.tensor([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    assert filled(rows).tolist() == [[1, 2], [2, 3], [3, 4]]
    assert filled(torch.zeros(2, 3)).tolist() == [[0] * 3] * 2
    assert filled(torch.zeros(0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("data", "weight", "rise", "replayed"),
    [("cifar10", 5.0, 0.25, 20), ("cifar100", 25.0, 0.75, 2), ("tiny-imagenet", 50.0, 0.5, 3)],
)
def test_presets_hold_the_released_values(data, weight, rise, replayed):
    pairing = PairingConfig(consistency_weight=weight, rise=rise)
    assert load_preset(f"frost-{data}").method == FrostConfig(pairing=pairing, replayed=replayed)
