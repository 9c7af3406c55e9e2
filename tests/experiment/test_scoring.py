from dataclasses import dataclass, replace

import contract
import numpy as np
import pytest
from rows import row

from metagcd.errors import InputError
from metagcd.evaluate import clustering_accuracy
from metagcd.experiment.config import ReadoutConfig
from metagcd.experiment.scoring import Examination, Reading, chosen_readouts, keep_predictions, novelty, read_off, score
from metagcd.methods.readout import CARRIED, taken


def blobs(each=12, classes=4, spread=0.4, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(classes), each)
    points = np.eye(8)[truth] + spread * rng.normal(size=(len(truth), 8))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), truth


FEATURES, TRUTH = blobs()


@dataclass
class Fixed:
    """A learner whose features and answers were decided before."""

    readouts: tuple[str, ...] = CARRIED
    embeddings: int = 0
    n_classes: int = 4
    memory_bytes: int = 0

    def embed(self, images):  # noqa: ARG002 - as learners are asked
        self.embeddings += 1
        return FEATURES

    def predict(self, images):  # noqa: ARG002 - as learners are asked
        return TRUTH[::-1].copy()

    @property
    def statistics(self):
        return taken(*blobs(seed=1, spread=0.1))

    def fit_offline(self, labelled): ...

    def discover(self, unlabelled, n_novel): ...

    def state_dict(self):
        return {}

    def load_state_dict(self, state): ...


def examination():
    return Examination(images=contract.probes(), truth=TRUTH, session=1, initial=2, before=3, classes=4)


def test_every_readout_that_a_learner_has_is_read_from_one_pass_over_the_images():
    learner = Fixed()
    found = read_off(learner, examination(), ReadoutConfig(), seed=3)
    assert [reading.readout for reading in found] == ["kmeans", "semi", "prototype"]
    assert learner.embeddings == 1
    kmeans, semi, prototype = (reading.predicted for reading in found)
    assert {len(np.unique(ids)) for ids in (kmeans, semi, prototype)} == {4}
    expected = np.argmax(FEATURES @ (learner.statistics.means.numpy().T) * 2 - _squares(learner), axis=1)
    np.testing.assert_array_equal(prototype, expected)


def _squares(learner):
    return (learner.statistics.means.numpy() ** 2).sum(1)


def test_semi_holds_the_classes_of_session_0_in_place_and_no_later_one():
    (reading,) = read_off(Fixed(), examination(), ReadoutConfig(names=("semi",)), seed=3)
    for label in (0, 1):
        assert np.bincount(reading.predicted[label == TRUTH]).argmax() == label
    later = {int(np.bincount(reading.predicted[label == TRUTH]).argmax()) for label in (2, 3)}
    assert later <= {2, 3}


def test_a_head_answers_for_itself_without_features():
    learner = Fixed(readouts=("head",))
    (reading,) = read_off(learner, examination(), ReadoutConfig(), seed=0)
    np.testing.assert_array_equal(reading.predicted, TRUTH[::-1])
    assert learner.embeddings == 0


def test_a_readout_that_the_learner_lacks_is_refused_by_name():
    with pytest.raises(InputError, match=r"read-out of this method `prototipe`.*prototype"):
        chosen_readouts(Fixed(), ReadoutConfig(names=("kmeans", "prototipe")))


def test_only_readouts_by_kmeans_are_repeated():
    found = read_off(Fixed(), examination(), ReadoutConfig(repeats=3, restarts=1), seed=0)
    assert [len(reading.repeats) for reading in found] == [3, 3, 1]
    again = read_off(Fixed(), examination(), ReadoutConfig(restarts=1, names=("kmeans",)), seed=2)
    np.testing.assert_array_equal(found[0].repeats[2], again[0].predicted)


def test_scores_are_means_over_repeats():
    wrong = np.where(TRUTH == 3, 0, TRUTH)
    reading = Reading(readout="kmeans", repeats=(TRUTH, wrong))
    for found in score(reading, examination(), row(session=1)):
        old = (2 if found.partition == "initial" else 3) > TRUTH
        both = [clustering_accuracy(TRUTH, ids, old, assignment=found.assignment) for ids in reading.repeats]
        assert found.all == pytest.approx((both[0].all + both[1].all) / 2)
        assert found.old == pytest.approx((both[0].old + both[1].old) / 2)
        assert found.new == pytest.approx((both[0].new + both[1].new) / 2)


def test_a_session_without_new_classes_has_no_new_score():
    first = replace(examination(), session=0, initial=4, before=4)
    reading = Reading(readout="kmeans", repeats=(TRUTH, TRUTH))
    assert all(np.isnan(found.new) and found.all == 100 for found in score(reading, first, row()))


def test_the_first_repeat_is_kept_beside_the_truth(tmp_path):
    readings = (Reading(readout="kmeans", repeats=(TRUTH, 1 - TRUTH)), Reading(readout="prototype", repeats=(TRUTH,)))
    keep_predictions(tmp_path / "kept.npz", examination(), readings, Fixed())
    kept = np.load(tmp_path / "kept.npz")
    assert set(kept.files) == {"truth", "kmeans", "prototype"}
    np.testing.assert_array_equal(kept["kmeans"], TRUTH)


def test_features_are_kept_reduced_beside_the_answers_they_gave(tmp_path):
    found = read_off(Fixed(), examination(), ReadoutConfig(), seed=0)
    keep_predictions(tmp_path / "kept.npz", examination(), found, Fixed())
    kept = np.load(tmp_path / "kept.npz")
    assert set(kept.files) == {"truth", "kmeans", "semi", "prototype", "map_rows", "map_points", "novelty", "detection"}
    np.testing.assert_array_equal(kept["map_rows"], np.arange(len(TRUTH)))
    assert kept["map_points"].shape == (len(TRUTH), 8)


@pytest.mark.parametrize("values", [{"restarts": 0}, {"repeats": 0}])
def test_counts_that_read_nothing_are_refused(values):
    with pytest.raises(InputError, match="at least 1"):
        ReadoutConfig(**values)


def test_novelty_is_the_distance_to_known_means_less_that_to_novel_ones():
    statistics = Fixed().statistics
    found = novelty(Fixed(), examination(), FEATURES)
    means = statistics.means.double().numpy()
    for image, told in zip(FEATURES.astype(np.float64), found["novelty"], strict=True):
        squares = ((image - means) ** 2).sum(1)
        assert told == pytest.approx(squares[:3].min() - squares[3], abs=1e-4)
    assert found["detection"][0] > 95
    alone = statistics.novelty(FEATURES[:1], 4)
    assert alone[0] == pytest.approx(((FEATURES[0] - means) ** 2).sum(1).min(), abs=1e-4)


def test_session_0_has_nothing_novel_and_a_learner_without_means_does_not_tell():
    assert novelty(Fixed(), replace(examination(), session=0), FEATURES) == {}
    names = ("fit_offline", "discover", "embed", "predict", "state_dict", "load_state_dict")
    own = {name: getattr(Fixed, name) for name in names} | {"readouts": ("head",), "n_classes": 4, "memory_bytes": 0}
    assert novelty(type("Headed", (), own)(), examination(), FEATURES) == {}
