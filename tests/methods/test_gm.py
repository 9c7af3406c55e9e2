"""What Grow and Merge alone promises; its losses are in test_branches, what it keeps in test_exemplars."""

import contract
import numpy as np
import pytest
import torch
from methods import stream
from methods.parametrics import learner

from metagcd.experiment.presets import load_preset
from metagcd.methods.branches import MergeConfig
from metagcd.methods.gm import GmConfig, means_of
from metagcd.methods.pairing import PairingConfig
from metagcd.methods.readout import Statistics

MERGE = {"updates": 40}


def lived(**tables):
    one = learner("gm", **{**stream.SHORT, "exemplars": 10, **tables})
    one.fit_offline(stream.labelled())
    one.discover(stream.session()[0], 1)
    return one


def test_candidates_are_more_often_novel_than_the_images_of_their_session():
    made = learner("gm", **stream.SHORT)
    made.fit_offline(stream.labelled())
    unlabelled, labels = stream.session(range(stream.KNOWN + 2))
    novel = labels >= stream.KNOWN
    chosen = made.candidates(made.embed(unlabelled.images))
    assert novel[chosen].mean() > 1.25 * novel.mean()
    assert 0 < len(chosen) < len(labels) / 2


def test_candidates_are_the_images_far_from_every_class_met():
    made = learner("gm")
    means = torch.eye(3, 6)
    made.clusters.statistics = Statistics(means, torch.ones(3, dtype=torch.int64))
    rng = np.random.default_rng(0)
    points = np.eye(6)[[0, 4, 1, 2, 5, 0, 4]] + 0.05 * rng.normal(size=(7, 6))
    features = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    assert made.candidates(features).tolist() == [1, 4, 6]
    assert made.candidates(features[:0]).tolist() == []


@pytest.mark.slow
def test_exemplars_and_distillation_keep_what_was_known_and_without_them_that_is_lost():
    lost = stream.known_accuracy(lived(merge={**MERGE, "replay": 0.0, "distillation": 0.0}))
    shown = stream.known_accuracy(lived(merge={**MERGE, "distillation": 0.0}))
    held = stream.known_accuracy(lived(merge=MERGE))
    assert shown > lost + 0.2
    assert held > lost + 0.2


def test_merging_into_nothing_of_the_grown_branch_leaves_the_encoder_as_it_was():
    made = learner("gm", merge={"share": 0.0}, online_updates=2, online={"rate": 0.0})
    made.fit_offline(contract.labelled())
    before = made.embed(contract.probes())
    made.discover(contract.unlabelled(), 1)
    np.testing.assert_allclose(made.embed(contract.probes()), before, atol=1e-6)


def test_a_session_that_is_said_to_bring_no_class_trains_nothing():
    made = learner("gm", online={"rate": 1.0})
    made.fit_offline(contract.labelled())
    before, exemplars = made.embed(contract.probes()), made.exemplars
    made.discover(contract.unlabelled(), 0)
    np.testing.assert_array_equal(made.embed(contract.probes()), before)
    assert made.exemplars is exemplars


def test_exemplars_of_every_class_are_in_the_state_and_count_as_memory():
    made = learner("gm", exemplars=3)
    made.fit_offline(contract.labelled())
    assert made.exemplars.classes.bincount().tolist() == [3] * contract.KNOWN
    before = made.memory_bytes
    made.discover(contract.unlabelled(), 1)
    kept = made.exemplars.classes.bincount(minlength=5).tolist()
    assert kept[: contract.KNOWN] == [3] * contract.KNOWN
    assert kept[4] == min(3, int(made.statistics.counts[4]))
    tokens = made.exemplars.tokens[0]
    row, mean, numbers = 16 * 4, 16 * 4, 8
    each = tokens.numel() * tokens.element_size() + 8
    assert made.memory_bytes - before == row + mean + numbers + kept[4] * each


def test_new_prototypes_begin_at_the_mean_of_what_the_grown_branch_gives_them():
    features, ids = np.eye(4, dtype=np.float32)[[0, 1, 1, 3]], np.array([0, 0, 0, 2])
    rows = means_of(features, ids, 2 * torch.eye(3, 4))
    torch.testing.assert_close(rows, torch.tensor([[1, 2, 0, 0], [0, 3, 0, 0], [0, 0, 0, 3]]) / 3.0)


@pytest.mark.parametrize(
    ("data", "weight", "rise"), [("cifar10", 5.0, 0.25), ("cifar100", 25.0, 0.75), ("tiny-imagenet", 50.0, 0.5)]
)
def test_presets_hold_the_defaults_and_the_published_consistency(data, weight, rise):
    pairing = PairingConfig(consistency_weight=weight, rise=rise)
    assert load_preset(f"gm-{data}").method == GmConfig(pairing=pairing, merge=MergeConfig())
