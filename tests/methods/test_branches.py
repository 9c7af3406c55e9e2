import math

import contract
import numpy as np
import pytest
import torch
from methods.parametrics import learner
from torch.nn import functional

from metagcd.engine.feed import Batch
from metagcd.losses import info_nce
from metagcd.methods.branches import (
    Branch,
    Grown,
    MergeConfig,
    first_rows,
    frozen,
    growing_loss,
    labelled_cross_entropy,
    merging_loss,
    mix,
)
from metagcd.methods.exemplars import NONE, Exemplars
from metagcd.methods.pairing import PairingConfig, pairing_loss
from metagcd.seeds import Seeds


@pytest.fixture
def network():
    made = learner("gm")
    made.fit_offline(contract.labelled())
    made.network.classifier.grow(torch.randn(1, 16, generator=Seeds(5).torch("row")))
    return made.network


def batch(images=3, step=0):
    tokens = torch.randn(2 * images, 5, 16, generator=Seeds(0).torch("tokens"))
    return Batch(np.arange(images), tokens, step)


def moved(tail, by):
    other = frozen(tail)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(by)
    return other


def grown(network, *, labels=(4, -1, 4), exemplars=NONE):
    return Grown(
        old=moved(network.tail, 0.9),
        tail=moved(network.tail, 1.2),
        labels=torch.tensor(labels),
        exemplars=exemplars,
        seeds=Seeds(3),
    )


def kept(classes=4):
    generator = Seeds(7).torch("kept")
    return Exemplars(torch.randn(6, 5, 16, generator=generator).half(), torch.arange(6) % classes)


def test_the_branch_learns_contrast_between_views_and_pairs_of_new_classes(network):
    branch, pairing = Branch(network, torch.randn(2, 16, generator=Seeds(1).torch("rows"))), PairingConfig(top=2)
    with torch.no_grad():
        loss = float(growing_loss(branch, batch(), pairing, temperature=0.3, risen=0.5))
        h = network.tail(batch().tokens)
        features = functional.normalize(h, dim=1)
        cosines = functional.normalize(branch.novel.weight, dim=1) @ features.T
        pairs = float(pairing_loss(features, cosines.T / network.temperature, pairing, risen=0.5))
        contrast = float(info_nce(network.head.project(h), temperature=0.3))
    assert loss == pytest.approx(contrast + pairs, rel=1e-5)


def test_the_branch_has_no_part_in_the_classifier_of_all_classes(network):
    branch = Branch(network, torch.randn(2, 16))
    growing_loss(branch, batch(), PairingConfig(), temperature=0.3, risen=1.0).backward()
    assert network.classifier.weight.grad is None
    assert all(parameter.grad is not None for parameter in branch.novel.parameters())
    assert all(parameter.grad is not None for parameter in network.tail.parameters())


def test_merging_holds_candidates_to_the_grown_branch_and_the_others_to_the_old_one(network):
    given = grown(network)
    config = MergeConfig(distillation=0.7, pseudo_labels=0.0, replay=0.0)
    with torch.no_grad():
        loss = float(merging_loss(network, batch(), given, config))
        features = functional.normalize(network.tail(batch().tokens), dim=1)
        new, old = (functional.normalize(tail(batch().tokens), dim=1) for tail in (given.tail, given.old))
    total = 0.0
    for view in range(6):
        target = new[view] if view % 3 in (0, 2) else old[view]
        total += float(((features[view] - target) ** 2).sum())
    assert loss == pytest.approx(0.7 * total / 6, rel=1e-5)


def test_merging_adds_the_cross_entropy_of_candidates_and_of_exemplars(network):
    given, config = grown(network, exemplars=kept()), MergeConfig(distillation=0.0, pseudo_labels=0.6, replay=0.8)
    with torch.no_grad():
        loss = float(merging_loss(network, batch(step=2), given, config))
        logits = network.logits(network.tail(batch().tokens))
        candidates = [-float(logits[view].log_softmax(dim=0)[4]) for view in (0, 2, 3, 5)]
        shown = kept().drawn(3, Seeds(3).torch(2))
        logits = network.logits(network.tail(shown.tokens.float()))
        replayed = [-float(row.log_softmax(dim=0)[c]) for row, c in zip(logits, shown.classes.tolist(), strict=True)]
    assert loss == pytest.approx(0.6 * sum(candidates) / 4 + 0.8 * sum(replayed) / 3, rel=1e-4)


def test_without_candidates_and_exemplars_merging_is_distillation_alone(network):
    given = grown(network, labels=(-1, -1, -1))
    loss = merging_loss(network, batch(), given, MergeConfig())
    loss.backward()
    alone = merging_loss(network, batch(), given, MergeConfig(pseudo_labels=0.0, replay=0.0))
    assert float(loss.detach()) == float(alone.detach())
    assert all(torch.isfinite(parameter.grad).all() for parameter in network.tail.parameters())
    assert all(parameter.grad is None for tail in (given.tail, given.old) for parameter in tail.parameters())


def test_cross_entropy_counts_the_labelled_rows_alone():
    logits = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([2, -1, 0, -1])
    total = 0.0
    for i in (0, 2):
        total -= math.log(math.exp(float(logits[i, labels[i]])) / sum(math.exp(float(v)) for v in logits[i]))
    assert float(labelled_cross_entropy(logits, labels)) == pytest.approx(total / 2)
    assert float(labelled_cross_entropy(logits, torch.full((4,), -1))) == 0


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_merged_weights_are_the_average_of_both_branches(network, share):
    old, new = moved(network.tail, 0.5), moved(network.tail, 2.0)
    mix(network.tail, old, new, share=share)
    for merged, before, after in zip(network.tail.parameters(), old.parameters(), new.parameters(), strict=True):
        torch.testing.assert_close(merged.detach(), (1 - share) * before + share * after)
        assert merged.requires_grad


def test_a_frozen_copy_stays_as_it_was(network):
    copy = frozen(network.tail)
    with torch.no_grad():
        for parameter in network.tail.parameters():
            parameter.add_(1)
    pairs = zip(copy.parameters(), network.tail.parameters(), strict=True)
    assert all(not torch.equal(one, other) for one, other in pairs)
    assert not any(parameter.requires_grad for parameter in copy.parameters())


def test_new_prototypes_begin_at_clusters_of_candidates_and_anywhere_beyond_them():
    points = np.repeat(np.eye(4, dtype=np.float32)[[1, 3]], 5, axis=0)
    rows = first_rows(points, 2, seeds=Seeds(0), restarts=3)
    assert sorted(rows.argmax(dim=1).tolist()) == [1, 3]
    assert first_rows(points[:1], 3, seeds=Seeds(0), restarts=3).shape == (3, 4)
    torch.testing.assert_close(first_rows(points[:0], 2, seeds=Seeds(0), restarts=3).norm(dim=1), torch.ones(2))
