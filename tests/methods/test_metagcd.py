"""What MetaGCD alone promises; the rest is the contract of every learner."""

import dataclasses

import contract
import numpy as np
import pytest
import torch

from metagcd.config import from_mapping
from metagcd.engine.training import Optimisation
from metagcd.experiment.presets import load_preset, preset_names
from metagcd.losses import info_nce_from_similarity, soft_neighbour_from_similarity
from metagcd.methods.learner import Setting
from metagcd.methods.metagcd import EpisodeConfig, MetaGcd, MetaGcdConfig
from metagcd.methods.soft_neighbourhood import NeighbourConfig, neighbour_loss
from metagcd.models.functional import parameters_of
from metagcd.protocol import ProtocolSpec
from metagcd.protocol.episode_spec import default_episode
from metagcd.seeds import Seeds


def config(**tables):
    return from_mapping(contract.shrunk(MetaGcdConfig()), tables)


def learner(**tables):
    return MetaGcd(config(**tables), Setting(encoder=contract.encoder(), seeds=Seeds(0)))


def fitted(**tables):
    made = learner(**tables)
    made.fit_offline(contract.labelled())
    return made


def weights(made):
    return torch.cat([tensor.flatten().double() for tensor in made.state_dict().values()])


def similarity():
    rows = torch.randn(8, 3, generator=Seeds(0).torch("rows"))
    rows = torch.nn.functional.normalize(rows, dim=1)
    return rows @ rows.T


@pytest.mark.parametrize("classes", [3, 5, 6, 7, 20, 80])
def test_without_counts_an_episode_is_in_the_proportion_of_the_paper(classes):
    found = EpisodeConfig().spec(classes)
    assert found.classes == classes
    assert found == default_episode(ProtocolSpec(known=classes, novel=(classes,) * 3))
    assert found.labelled >= sum(found.novel) * 4 / 3


def test_an_episode_takes_the_counts_it_is_given():
    found = EpisodeConfig(labelled=60, novel=(5, 5, 5, 5), test_fraction=0.3).spec(90)
    assert (found.labelled, found.novel, found.test_fraction) == (60, (5, 5, 5, 5), 0.3)
    assert EpisodeConfig(novel=(2, 1)).spec(9).labelled == 6


def test_meta_training_ends_elsewhere_than_training_without_it():
    assert not torch.allclose(weights(fitted(meta=True)), weights(fitted(meta=False)), atol=1e-4)


def test_warmed_up_on_all_images_meta_training_begins_where_training_without_it_ends():
    still = fitted(warmup_images="all", tasks=1, inner={"updates": 0}, outer={"rate": 0.0})
    assert torch.equal(weights(still), weights(fitted(meta=False)))


def test_without_meta_training_it_is_the_baseline_with_another_online_loss():
    made = fitted(meta=False, neighbours={"unsupervised_weight": 1.0})
    baseline = contract.METHODS.get("gcd")
    theirs = contract.shrunk(baseline.config())
    theirs = dataclasses.replace(theirs, offline_epochs=made.config.warmup_epochs)
    other = baseline.target(theirs, Setting(encoder=contract.encoder(), seeds=Seeds(0)))
    other.fit_offline(contract.labelled())
    for one in (made, other):
        one.discover(contract.unlabelled(), 1)
    np.testing.assert_allclose(made.embed(contract.probes()), other.embed(contract.probes()), atol=1e-4)


def test_learned_attention_is_part_of_what_is_meta_trained():
    table = {"neighbours": {"attention": "learned", "attention_width": 4, "threshold": -1.0}, "outer": {"rate": 0.1}}
    made, fresh = fitted(**table), learner(**table)
    names = [name for name in made.state_dict() if ".attention." in name]
    assert len(names) == 2
    for name in names:
        assert not torch.equal(made.state_dict()[name], fresh.state_dict()[name])


def test_the_identity_has_no_parameters():
    assert not any(name.startswith("attention") for name in parameters_of(learner()._network))


def test_the_loss_is_eq_4_with_a_share_of_eq_1():
    s = similarity()
    soft = soft_neighbour_from_similarity(s, threshold=0.2, temperature=0.5)
    plain = info_nce_from_similarity(s, temperature=0.8)
    chosen = NeighbourConfig(threshold=0.2, temperature=0.5, unsupervised_temperature=0.8)
    assert torch.equal(neighbour_loss(s, None, chosen), soft)
    mixed = neighbour_loss(s, None, dataclasses.replace(chosen, unsupervised_weight=0.65))
    assert torch.allclose(mixed, 0.35 * soft + 0.65 * plain)


def test_hard_weights_are_no_softer_than_soft_ones():
    chosen = NeighbourConfig(threshold=-0.5, temperature=0.5)
    soft = neighbour_loss(similarity(), None, chosen)
    assert neighbour_loss(similarity(), None, dataclasses.replace(chosen, weights="hard")) > soft


def test_later_warm_ups_have_a_length_and_rate_of_their_own_and_do_not_ramp():
    chosen = MetaGcdConfig(warmup_epochs_later=3, warmup_rate_later=0.01, warmup=Optimisation(warmup=9))
    first, later = chosen.warmups()
    assert (first.amount, first.optimisation.rate, first.optimisation.warmup) == (50, 0.1, 9)
    assert (later.amount, later.optimisation.rate, later.optimisation.warmup) == (3, 0.01, 0)
    assert MetaGcdConfig().warmups()[1].optimisation.rate == 0.1


PRESETS = [name for name in preset_names() if name.startswith("metagcd-")]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_asks_for_no_more_classes_than_it_has(name):
    chosen = load_preset(name)
    episode = chosen.method.episode.spec(chosen.protocol.known)
    assert episode.classes <= chosen.protocol.known
    assert len(episode.novel) == len(chosen.protocol.novel)


@pytest.mark.parametrize("data", ["cifar10", "cifar100", "tiny-imagenet"])
def test_the_paper_and_its_released_code_differ_where_they_should(data):
    paper, released = (load_preset(f"metagcd-{data}{end}").method for end in ("", "-released-code"))
    assert (paper.warmup.rate, paper.inner.rate, paper.online.rate, paper.outer.rate) == (0.1, 1e-3, 1e-3, 1e-4)
    assert (paper.online_unit, released.online_unit) == ("update", "epoch")
    assert (paper.neighbours.unsupervised_weight, released.neighbours.unsupervised_weight) == (0.0, 0.65)
    assert (paper.inner.updates, paper.online_updates, paper.warmup_epochs) == (10, 20, 50)
    assert paper.episode == released.episode
