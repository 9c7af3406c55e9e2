import contract
import numpy as np
import torch
from methods.parametrics import learner

from metagcd.methods.exemplars import NONE, Exemplars, nearest_to_means
from metagcd.seeds import Seeds


def feed():
    made = learner("gm")
    return made.clusters.feed(contract.labelled().images)


def test_the_images_nearest_to_the_mean_of_their_class_are_kept():
    rng = np.random.default_rng(0)
    features, classes = rng.normal(size=(20, 3)), rng.integers(0, 4, 20)
    rows, chosen = nearest_to_means(features, classes, range(1, 4), count=2)
    for one in range(1, 4):
        own = [i for i in range(20) if classes[i] == one]
        mean = [sum(features[i][d] for i in own) / len(own) for d in range(3)]
        ordered = sorted(own, key=lambda i: sum((features[i][d] - mean[d]) ** 2 for d in range(3)))
        assert rows[chosen == one].tolist() == ordered[:2]
    np.testing.assert_array_equal(classes[rows], chosen)


def test_a_class_without_images_has_none_and_one_with_few_has_all():
    features = np.eye(3, dtype=np.float32)
    rows, chosen = nearest_to_means(features, np.array([0, 2, 2]), range(3), count=5)
    assert sorted(rows.tolist()) == [0, 1, 2]
    assert sorted(chosen.tolist()) == [0, 2, 2]
    assert len(nearest_to_means(features[:0], np.zeros(0, dtype=np.int64), range(2), count=1)[0]) == 0


def test_what_is_kept_is_what_the_trunk_makes_of_the_images_in_16_bits():
    given = feed()
    whole = torch.cat(list(given.evaluation()))
    rows = np.array([7, 2, 30])
    kept = NONE.joined(given, rows, np.array([0, 1, 1]))
    assert torch.equal(kept.tokens, whole[rows].half())
    more = kept.joined(given, np.array([4]), np.array([3]))
    assert torch.equal(more.tokens, whole[[7, 2, 30, 4]].half())
    assert more.classes.tolist() == [0, 1, 1, 3]
    assert kept.joined(given, rows[:0], rows[:0]) is kept


def test_exemplars_are_drawn_with_their_classes_by_the_generator():
    kept = Exemplars(torch.arange(5.0).half()[:, None], torch.arange(5))
    drawn = kept.drawn(40, Seeds(0).torch("a"))
    assert torch.equal(drawn.tokens[:, 0].long(), drawn.classes)
    assert set(drawn.classes.tolist()) == set(range(5))
    assert torch.equal(drawn.classes, kept.drawn(40, Seeds(0).torch("a")).classes)


def test_a_state_brings_them_back():
    kept = NONE.joined(feed(), np.array([3, 1]), np.array([0, 2]))
    again = Exemplars.of(kept.state_dict())
    assert torch.equal(again.tokens, kept.tokens)
    assert torch.equal(again.classes, kept.classes)
