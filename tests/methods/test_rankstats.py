"""What RankStats alone promises; its losses are in test_ranking and test_pairing, its session 0 in test_classifying."""

import contract
import numpy as np
import pytest
import torch
from methods import stream
from methods.parametrics import learner

from metagcd.engine.training import Stage
from metagcd.experiment.presets import load_preset
from metagcd.losses import same_top
from metagcd.methods.classifier import random_rows
from metagcd.methods.pairing import PairingConfig
from metagcd.methods.rankstats import RankStatsConfig
from metagcd.seeds import Seeds


def test_rank_statistics_find_pairs_of_one_class_on_features_that_were_trained_shortly():
    made = learner("rankstats", **stream.SHORT)
    made.fit_offline(stream.labelled())
    unlabelled, labels = stream.session(range(stream.KNOWN + 2))
    features = torch.from_numpy(made.embed(unlabelled.images))
    others = ~torch.eye(len(labels), dtype=torch.bool)
    alike = torch.from_numpy(labels[:, None] == labels)
    found = same_top(features, k=made.config.pairing.top) & others
    assert found.sum() > len(labels) / 2
    assert alike[found].float().mean() > 2 * alike[others].float().mean()


def test_new_prototypes_begin_in_random_directions_that_the_session_decides():
    made = learner("rankstats", online={"rate": 0.0})
    made.fit_offline(contract.labelled())
    for _ in range(2):
        made.discover(contract.unlabelled(), 1)
    rows = made.network.classifier.weight.detach()[contract.KNOWN :]
    for session, row in enumerate(rows, 1):
        expected = random_rows(Seeds(0).child("session", session), 1, rows.shape[1])
        torch.testing.assert_close(row[None], expected)


def test_a_session_moves_tail_and_prototypes_by_the_pairs_of_its_images():
    still, moved = learner("rankstats", online={"rate": 0.0}), learner("rankstats", online={"rate": 0.1})
    for made in (still, moved):
        made.fit_offline(contract.labelled())
        made.discover(contract.unlabelled(), 1)
    pairs = zip(still.network.named_parameters(), moved.network.parameters(), strict=True)
    assert all(not torch.equal(one, other) for (_, one), other in pairs)


def test_the_mean_of_a_new_class_is_that_of_the_images_given_to_it():
    made = learner("rankstats", **stream.SHORT)
    made.fit_offline(stream.labelled())
    unlabelled, _ = stream.session()
    made.discover(unlabelled, 3)
    ids, features = made.predict(unlabelled.images), made.embed(unlabelled.images)
    for one in range(stream.KNOWN, stream.KNOWN + 3):
        own = features[ids == one]
        assert int(made.statistics.counts[one]) == len(own)
        row = made.network.classifier.weight[one].detach()
        expected = own.mean(axis=0) if len(own) else (row / row.norm()).numpy()
        np.testing.assert_allclose(made.statistics.means[one], expected, atol=1e-5)


def test_the_consistency_of_views_rises_with_the_updates_of_the_session(monkeypatch):
    seen = []
    made = learner("rankstats", online_updates=2, online_unit="epoch", pairing={"rise": 1.0})
    made.fit_offline(contract.labelled())
    risen = type(made.config.pairing).risen
    monkeypatch.setattr(
        type(made.config.pairing),
        "risen",
        lambda own, step, steps: seen.append((step, steps)) or risen(own, step, steps),
    )
    unlabelled = contract.unlabelled()
    made.discover(unlabelled, 1)
    stage = Stage(name="", amount=2, unit="epoch", optimisation=made.config.online)
    steps = stage.updates(made.clusters.feed(unlabelled.images))
    assert steps > 2
    assert seen == [(step, steps) for step in range(steps)]


@pytest.mark.parametrize("data", ["cifar10", "cifar100", "tiny-imagenet"])
def test_presets_differ_from_the_defaults_in_the_published_consistency_alone(data):
    published = {"cifar10": (5.0, 0.25), "cifar100": (25.0, 0.75), "tiny-imagenet": (50.0, 0.5)}[data]
    pairing = PairingConfig(consistency_weight=published[0], rise=published[1])
    assert load_preset(f"rankstats-{data}").method == RankStatsConfig(pairing=pairing)
