import numpy as np
import pytest
from workspace import streams
from workspace.streams import ids

from metagcd.workspace.describing import SHOWN, cohesion, nearest_class, representatives
from metagcd.workspace.table import table_of


def test_the_nearest_class_has_the_largest_cosine_whatever_the_lengths():
    means = np.array([[10.0, 0.0], [0.1, 0.1]])
    assert nearest_class(np.array([1.0, 1.0]), means) == (1, pytest.approx(1.0))
    assert nearest_class(np.array([1.0, 1.0]), means[:0]) == (-1, 0.0)


def test_cohesion_is_the_silhouette_of_a_loop():
    features, labels = streams.images(range(3), 6, seed=0, spread=0.2)
    table = table_of(features, labels, ids(3))
    own = features[labels == 1]
    levels = []
    for row, image in enumerate(own):
        inside = np.linalg.norm(image - np.delete(own, row, axis=0).mean(0))
        outside = min(np.linalg.norm(image - table.means[place]) for place in (0, 2))
        levels.append((outside - inside) / max(outside, inside))
    assert cohesion(own, 1, table) == pytest.approx(np.mean(levels), abs=1e-5)


def test_tight_groups_hold_more_firmly_than_loose_ones():
    firmness = []
    for spread in (0.05, 0.2, 0.5):
        features, labels = streams.images(range(3), 20, seed=0, spread=spread)
        firmness.append(cohesion(features[labels == 0], 0, table_of(features, labels, ids(3))))
    assert firmness == sorted(firmness, reverse=True)


def test_copies_hold_together_wholly_beside_another_class():
    features = np.repeat(streams.centres()[:2], 3, axis=0)
    table = table_of(features, np.repeat([0, 1], 3), ids(2))
    assert cohesion(features[:3], 0, table) == 1
    assert cohesion(features[:0], 0, table) == 0


def test_representatives_begin_with_the_medoid_and_differ():
    own, _ = streams.images([0], 40, seed=0)
    chosen = representatives(own, own.mean(0))
    assert len(chosen) == len(set(chosen.tolist())) == SHOWN
    assert chosen[0] == ((own - own.mean(0)) ** 2).sum(1).argmin()
    far = ((own - own.mean(0)) ** 2).sum(1) > np.median(((own - own.mean(0)) ** 2).sum(1))
    assert not far[chosen].any()


def test_two_kinds_within_a_group_are_both_shown():
    own = np.tile(np.eye(2, dtype=np.float32), (20, 1))
    assert {tuple(image) for image in own[representatives(own, own.mean(0))]} == {(1.0, 0.0), (0.0, 1.0)}


@pytest.mark.parametrize("images", [0, 1, 2, 5])
def test_small_groups_and_copies_show_all_they_have(images):
    copies = np.repeat(streams.centres()[:1], images, axis=0)
    assert sorted(representatives(copies, streams.centres()[0]).tolist()) == list(range(images))
