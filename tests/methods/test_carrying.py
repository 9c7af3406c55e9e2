import contract
import pytest
import torch
from torch import nn

from metagcd.methods.carrying import Carrying
from metagcd.methods.classifier import Classifier
from metagcd.methods.clusters import Clusters
from metagcd.methods.learner import KeepsStatistics, Learner, Setting
from metagcd.seeds import Seeds


class Plain(Carrying):
    def __init__(self, setting):
        self.clusters = Clusters(setting, restarts=1)

    def fit_offline(self, labelled):
        self.clusters.start(labelled)
        self.clusters.finish(labelled)

    def discover(self, unlabelled, n_novel):
        self.clusters.open_session()
        self.clusters.close_session(unlabelled.images, n_novel)


class Growing(Plain):
    def __init__(self, setting):
        super().__init__(setting)
        self.classifier = Classifier(setting.encoder.dim)

    @property
    def trained(self) -> nn.Module:
        return self.classifier

    def discover(self, unlabelled, n_novel):
        super().discover(unlabelled, n_novel)
        self.classifier.grow(torch.randn(self.n_classes - self.classifier.classes, self.classifier.weight.shape[1]))

    def sized(self, classes):
        self.classifier.resize(classes)


def made(kind):
    return kind(Setting(encoder=contract.encoder(), seeds=Seeds(0)))


@pytest.mark.parametrize("kind", [Plain, Growing])
def test_two_methods_make_a_learner(kind):
    learner = made(kind)
    assert isinstance(learner, Learner)
    assert isinstance(learner, KeepsStatistics)
    learner.fit_offline(contract.labelled())
    learner.discover(contract.unlabelled(), 1)
    assert learner.n_classes == len(learner.statistics.means) == contract.KNOWN + 1
    assert learner.memory_bytes == sum(t.numel() * t.element_size() for t in learner.state_dict().values())


def test_what_is_trained_stands_in_the_state_and_is_sized_before_it_is_taken_up():
    learner, fresh = made(Growing), made(Growing)
    learner.fit_offline(contract.labelled())
    learner.discover(contract.unlabelled(), 1)
    fresh.load_state_dict(learner.state_dict())
    assert fresh.classifier.classes == contract.KNOWN + 1
    assert contract.name_of(fresh.state_dict()) == contract.name_of(learner.state_dict())


def test_where_nothing_is_trained_the_state_holds_the_classes_alone():
    learner = made(Plain)
    learner.fit_offline(contract.labelled())
    assert set(learner.state_dict()) == set(learner.clusters.state_dict())
