"""What Happy alone promises; the network and session 0 are in test_parametric."""

import math

import contract
import numpy as np
import pytest
import torch
from methods.parametrics import learner, network, seen
from torch.nn import functional

from metagcd.engine.feed import Batch
from metagcd.errors import InputError
from metagcd.experiment.presets import load_preset
from metagcd.losses import drawn_features, group_entropy, hardness, info_nce, radius, self_distillation
from metagcd.methods.happy import (
    Before,
    EntropyWeights,
    HappyConfig,
    ReplayConfig,
    new_rows,
    replay_loss,
    session_loss,
    unoffline_loss,
)
from metagcd.methods.parametric import OfflineConfig
from metagcd.seeds import Seeds


def batch(images=3, step=0):
    tokens = torch.randn(2 * images, 5, 16, generator=Seeds(0).torch("tokens"))
    return Batch(np.arange(images), tokens, step)


def before(made, classes=2):
    """The time before a session: another tail than the network's, and means."""
    means = torch.randn(classes, 16, generator=Seeds(1).torch("means"))
    return Before(tail=contract.encoder().tail, means=means, radius=0.1, seeds=Seeds(2))


def blobs(centres, each=12, spread=0.02):
    rng = np.random.default_rng(0)
    points = np.repeat(np.asarray(centres, dtype=np.float64), each, axis=0)
    points = points + spread * rng.normal(size=points.shape)
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def test_new_prototypes_begin_at_the_cluster_centres_least_similar_to_the_old_ones():
    axes = np.eye(5)
    old = torch.eye(5)[[3, 0]] * 2.5
    rows = new_rows(blobs(axes[[0, 1, 3, 4]]), old, 2, seed=0, restarts=5)
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(2))
    assert sorted(rows.argmax(dim=1).tolist()) == [1, 4]
    assert float((rows @ torch.eye(5)[[0, 3]].T).max()) < 0.1


def test_of_the_centres_the_one_that_lies_between_old_prototypes_comes_last():
    centres = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    (row,) = new_rows(blobs(centres), torch.eye(3)[:2], 1, seed=0, restarts=5)
    assert int(row.argmax()) == 2


def test_without_a_known_image_in_the_session_all_centres_are_new_ones():
    rows = new_rows(blobs(np.eye(5)[[1, 4]]), torch.eye(5)[[0, 3]], 2, seed=0, restarts=5)
    assert float((rows @ torch.eye(5)[[0, 3]].T).max()) < 0.1


def test_no_new_class_needs_no_cluster_and_fewer_images_than_classes_make_as_many_clusters_as_they_can():
    old = torch.eye(5)[:4]
    assert new_rows(blobs(np.eye(5)[:1], each=1), old, 0, seed=0, restarts=1).shape == (0, 5)
    (row,) = new_rows(blobs(np.eye(5)[[4]], each=2), old, 1, seed=0, restarts=1)
    assert int(row.argmax()) == 4
    with pytest.raises(InputError, match="Cannot find 3 novel classes among 2 images"):
        new_rows(blobs(np.eye(5)[[4]], each=2), old, 3, seed=0, restarts=1)


def test_a_learners_new_prototypes_begin_there_too():
    made, unlabelled = learner("happy", online_updates=1, online={"rate": 0.0}), contract.unlabelled()
    made.fit_offline(contract.labelled())
    features, old = made.embed(unlabelled.images), made.network.classifier.weight.detach().clone()
    made.discover(unlabelled, 1)
    seed = Seeds(0).child("session", 1).integer("clusters")
    expected = new_rows(features, old, 1, seed=seed, restarts=made.config.restarts)
    torch.testing.assert_close(made.network.classifier.weight[4:].detach(), expected)


def test_the_losses_of_a_sessions_own_images_are_summed_with_their_weights():
    z, given = seen(classes=4)
    config = HappyConfig(entropy=EntropyWeights(between=1.1, old=0.7, new=0.3), unsupervised_temperature=0.4)
    lacking = group_entropy(given.cosines, 3, temperature=0.1)
    distilled = float(self_distillation(given.cosines, student_temperature=0.1, teacher_temperature=0.05))
    spread = 1.1 * float(lacking.between) + 0.7 * float(lacking.old) + 0.3 * float(lacking.new)
    expected = distilled + spread + float(info_nce(z, temperature=0.4))
    assert float(unoffline_loss(given, 3, config, epoch=0)) == pytest.approx(expected, rel=1e-9)


def test_replay_is_the_cross_entropy_of_drawn_features_over_all_classes():
    made = network(classes=3)
    kept, config = before(made), HappyConfig(replay=ReplayConfig(radius_scale=2.0))
    loss = float(replay_loss(made.classifier, batch(step=5), kept, config).detach())
    features, classes = drawn_features(
        kept.means, hardness(kept.means, temperature=0.1), radius=0.2, count=6, generator=Seeds(2).torch(5)
    )
    total = 0.0
    for feature, label in zip(features, classes.tolist(), strict=True):
        terms = [
            math.exp(float(functional.cosine_similarity(feature, row, dim=0).detach()) / 0.1)
            for row in made.classifier.weight
        ]
        total -= math.log(terms[label] / sum(terms))
    assert loss == pytest.approx(total / 6, rel=1e-5)


def test_the_number_of_the_update_decides_what_is_replayed():
    made = network()
    kept, config = before(made), HappyConfig()
    losses = [float(replay_loss(made.classifier, batch(step=step), kept, config).detach()) for step in (3, 3, 4)]
    assert losses[0] == losses[1] != losses[2]


def test_a_session_adds_replay_and_the_distance_to_the_features_before_it():
    made = network()
    with torch.no_grad():
        for parameter in made.tail.parameters():
            parameter.mul_(1.1)
    kept, given = before(made), batch(step=2)
    full = HappyConfig(distillation_weight=0.5, replay=ReplayConfig(weight=0.8))
    loss = float(session_loss(made, given, kept, full, epoch=0).detach())
    found = made(given.tokens, 3)
    with torch.no_grad():
        was = functional.normalize(kept.tail(given.tokens), dim=1)
        moved = sum(float(((a - b) ** 2).sum()) for a, b in zip(found.features, was, strict=True)) / 6
        own = float(unoffline_loss(found, 2, full, epoch=0))
        replayed = float(replay_loss(made.classifier, given, kept, full))
    assert moved > 0
    assert loss == pytest.approx(own + 0.8 * replayed + 0.5 * moved, rel=1e-5)
    neither = HappyConfig(distillation_weight=0.0, replay=ReplayConfig(weight=0.0))
    assert float(session_loss(made, given, kept, neither, epoch=0).detach()) == pytest.approx(own, rel=1e-6)


def test_the_encoder_as_it_was_is_not_trained():
    made = learner("happy")
    made.fit_offline(contract.labelled())
    kept = made._before(Seeds(0))
    assert not any(parameter.requires_grad for parameter in kept.tail.parameters())
    session_loss(made.network, batch(), kept, made.config, epoch=0).backward()
    assert all(parameter.grad is None for parameter in kept.tail.parameters())
    assert all(parameter.grad is not None for parameter in made.network.tail.parameters())


def test_the_spread_of_session_0_is_stored_and_stays():
    made = learner("happy")
    made.fit_offline(contract.labelled())
    features, labels = made.embed(contract.labelled().images), contract.labelled().labels
    variances = [features[labels == label].var(axis=0).mean() for label in range(contract.KNOWN)]
    assert float(made.state_dict()["radius"]) == pytest.approx(math.sqrt(np.mean(variances)), rel=1e-3)
    first = made.state_dict()["radius"]
    made.discover(contract.unlabelled(), 1)
    assert torch.equal(made.state_dict()["radius"], first)
    assert not torch.equal(radius(made.statistics.means), first)


def test_the_means_of_classes_met_before_stay_as_they_were_stored():
    made = learner("happy")
    made.fit_offline(contract.labelled())
    stored = made.statistics.means
    made.discover(contract.unlabelled(), 1)
    assert torch.equal(made.statistics.means[: contract.KNOWN], stored)


@pytest.mark.parametrize("data", ["cifar10", "cifar100", "tiny-imagenet", "cifar100-happy5", "tiny-imagenet-happy10"])
def test_presets_hold_the_published_values(data):
    found = load_preset(f"happy-{data}").method
    assert found == HappyConfig()
    assert found.offline == OfflineConfig()


LEARNED = {
    "offline": {
        "epochs": 60,
        "optimisation": {"optimiser": "adamw", "rate": 0.005, "batch": 32},
        "unsupervised_temperature": 0.2,
    },
    "unsupervised_temperature": 0.2,
    "online_unit": "update",
}


@pytest.fixture(scope="module")
def session_0():
    """The state after forty images of each of four digits, learned for longer than other tests do."""
    made = learner("happy", **LEARNED)
    made.fit_offline(contract.digits_of(range(contract.KNOWN), take=40))
    return made.state_dict()


def after(state, *, known, novel, updates, rate, **tables):
    """Return how often known test digits get their own class, and those of a new one a new class, after a session."""
    online = {"optimiser": "adamw", "rate": rate, "batch": 32}
    made = learner("happy", **{**LEARNED, "online_updates": updates, "online": online, **tables})
    made.load_state_dict(state)
    made.discover(contract.unlabelled_digits(known=known, novel=novel, skip=40), contract.NOVEL)
    images, labels = contract.held_out_digits(range(contract.KNOWN + contract.NOVEL))
    predicted, old = made.predict(images), labels < contract.KNOWN
    return (predicted == labels)[old].mean(), (predicted >= contract.KNOWN)[~old].mean()


@pytest.mark.slow
def test_replay_keeps_known_classes_that_a_session_does_not_show_and_without_it_they_are_lost(session_0):
    # The encoder is held, so that what is lost is lost by the classifier.
    how = {"known": 0, "novel": 30, "updates": 200, "rate": 0.01, "distillation_weight": 50.0}
    with_it, _ = after(session_0, **how)
    without, _ = after(session_0, **how, replay={"weight": 0.0})
    assert with_it > without + 0.1


@pytest.mark.slow
def test_entropy_between_groups_keeps_new_classes_from_being_taken_for_old_ones(session_0):
    how = {"known": 8, "novel": 30, "updates": 100, "rate": 0.003}
    _, with_it = after(session_0, **how)
    _, without = after(session_0, **how, entropy={"between": 0.0})
    assert with_it > without + 0.15
