import contract
import numpy as np
import pytest
import torch

from metagcd.data.rows import select
from metagcd.errors import InputError
from metagcd.evaluate import clustering_accuracy
from metagcd.experiment.config import ReadoutConfig
from metagcd.experiment.scoring import Examination, read_off
from metagcd.methods.learner import KeepsStatistics

every_learner = pytest.mark.parametrize("name", ["frozen", "gcd", "metagcd"])


def lived(name):
    learner = contract.new(name)
    learner.fit_offline(contract.labelled())
    learner.discover(contract.unlabelled(), contract.NOVEL)
    return learner


@every_learner
def test_after_session_0_the_statistics_are_the_means_of_the_labelled_classes(name):
    learner, labelled = contract.new(name), contract.labelled()
    learner.fit_offline(labelled)
    assert isinstance(learner, KeepsStatistics)
    features = learner.embed(labelled.images)
    assert learner.statistics.counts.tolist() == [contract.PER_CLASS] * contract.KNOWN
    for label, mean in enumerate(learner.statistics.means):
        np.testing.assert_allclose(mean, features[labelled.labels == label].mean(0), atol=1e-5)


@every_learner
def test_a_session_adds_the_mean_of_the_novel_class_and_keeps_the_number_of_images_of_the_known(name):
    learner = lived(name)
    assert learner.statistics.means.shape[0] == learner.n_classes == contract.KNOWN + contract.NOVEL
    assert learner.statistics.counts[: contract.KNOWN].tolist() == [contract.PER_CLASS] * contract.KNOWN
    assert 0 < learner.statistics.counts[-1] < 40


@every_learner
def test_an_image_is_given_the_same_class_alone_and_among_others(name):
    learner, images = lived(name), contract.probes()
    together = learner.predict(images)
    np.testing.assert_array_equal(learner.predict(select(images, np.arange(7))), together[:7])


@pytest.mark.parametrize(("name", "moves"), [("frozen", False), ("gcd", True), ("metagcd", True)])
def test_means_follow_the_encoder_only_where_it_is_trained(name, moves):
    learner = contract.new(name)
    learner.fit_offline(contract.labelled())
    before = learner.statistics.means
    learner.discover(contract.unlabelled(), 0)
    assert (not learner.statistics.means.equal(before)) == moves


def test_classes_learned_with_labels_keep_their_ids():
    learner, labelled = contract.new("frozen"), contract.labelled()
    learner.fit_offline(labelled)
    right = (learner.predict(labelled.images) == labelled.labels).mean()
    best = clustering_accuracy(labelled.labels, learner.predict(labelled.images), range(contract.KNOWN)).all
    assert 100 * right == pytest.approx(best)
    assert right > 0.5


@every_learner
def test_the_prototype_read_out_is_what_predict_answers(name):
    learner, images = lived(name), contract.probes()
    truth = np.zeros(len(images), dtype=np.int64)
    examination = Examination(images=images, truth=truth, session=1, initial=4, before=4, classes=5)
    (reading,) = read_off(learner, examination, ReadoutConfig(names=("prototype",)), seed=0)
    np.testing.assert_array_equal(reading.predicted, learner.predict(images))


@every_learner
def test_novel_classes_are_counted_when_their_number_is_not_given(name):
    learner = contract.new(name)
    learner.fit_offline(contract.labelled())
    learner.discover(contract.unlabelled(), None)
    assert contract.KNOWN <= learner.n_classes <= contract.KNOWN + 10
    assert len(learner.statistics.means) == learner.n_classes


def test_the_interval_of_a_session_of_known_classes_that_are_not_all_there_begins_at_none():
    learner, labelled = contract.new("frozen"), contract.labelled()
    learner.fit_offline(labelled)
    rows = np.flatnonzero(labelled.labels < 2)
    features = learner.embed(select(labelled.images, rows))
    found = learner.clusters.counted(features)
    assert found.low == 0
    assert found.k <= 1


def test_a_state_without_a_price_cannot_count_and_says_so():
    learner = contract.new("frozen")
    learner.fit_offline(contract.labelled())
    state = learner.state_dict() | {"price": torch.tensor([], dtype=torch.float64)}
    learner.load_state_dict(state)
    with pytest.raises(InputError, match="give their number"):
        learner.discover(contract.unlabelled(), None)
