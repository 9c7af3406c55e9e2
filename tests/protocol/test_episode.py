import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from protocol.cases import repeated

from metagcd.errors import InputError
from metagcd.protocol import EpisodeSpec, draw_episode
from metagcd.seeds import Seeds

LABELS = repeated([100] * 7)


@st.composite
def spec_values(draw):
    # Four times as many labelled classes as new ones: the labelled part is then the largest.
    novel = tuple(draw(st.lists(st.integers(0, 2), min_size=1, max_size=3)))
    return {
        "labelled": draw(st.integers(max(2, 4 * sum(novel)), 26)),
        "novel": novel,
        "test_fraction": draw(st.floats(0.05, 0.6)),
        "warmup_fraction": draw(st.floats(0.6, 0.8)),
        "novel_fraction": draw(st.floats(0.2, 0.6)),
    }


@given(spec_values(), st.lists(st.integers(40, 50), min_size=32, max_size=32), st.integers(0, 9))
def test_every_random_episode_keeps_what_is_guaranteed(values, sizes, seed):
    spec, labels = EpisodeSpec(**values), repeated(sizes)
    episode = draw_episode(labels, spec, Seeds(seed))
    assert len(episode.sessions) == len(spec.novel)
    trains = [episode.labelled, *(session.train for session in episode.sessions)]
    tests = [episode.labelled_test, *(session.test for session in episode.sessions)]
    used = np.concatenate([*trains, *tests])
    assert len(np.unique(used)) == len(used)
    assert all(len(episode.labelled) > len(train) > 0 for train in trains[1:])
    met = set(episode.known)
    assert len(met) == spec.labelled
    assert set(labels[episode.labelled]) == set(labels[episode.labelled_test]) == met
    for session, novel in zip(episode.sessions, spec.novel, strict=True):
        assert (set(session.known), len(session.novel)) == (met, novel)
        assert not met & set(session.novel)
        assert set(labels[session.test]) == set(session.novel)
        met |= set(session.novel)
        assert set(session.novel) <= set(labels[session.train]) <= met


@given(st.integers(0, 9))
def test_sessions_hold_classes_of_every_age_where_there_are_enough_images(seed):
    episode = draw_episode(LABELS, EpisodeSpec(), Seeds(seed))
    for session in episode.sessions:
        assert set(LABELS[session.train]) == set(session.known) | set(session.novel)
        counts = np.bincount(LABELS[session.train], minlength=7)
        assert (counts[list(session.novel)] == 48).all()
        assert set(counts[list(session.known)]) <= {5, 6}
    assert len(episode.labelled) == 4 * 64
    assert len(episode.labelled_test) == 4 * 20


def test_the_same_seeds_give_the_same_episode_and_others_another():
    def rows(seed):
        episode = draw_episode(LABELS, EpisodeSpec(), Seeds(seed))
        return np.concatenate([episode.labelled, *(session.train for session in episode.sessions)]).tolist()

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)


def test_each_draw_separates_the_classes_anew():
    assert len({frozenset(draw_episode(LABELS, EpisodeSpec(), Seeds(seed)).known) for seed in range(8)}) > 3


def test_warm_up_images_come_in_no_order():
    labels = LABELS[draw_episode(LABELS, EpisodeSpec(), Seeds(0)).labelled]
    assert np.count_nonzero(np.diff(labels)) > 50


def test_small_classes_are_spread_over_the_sessions():
    labels = repeated([12] * 40)
    episode = draw_episode(labels, EpisodeSpec(labelled=30, novel=(2,) * 5), Seeds(0))
    for session in episode.sessions:
        assert np.isin(labels[session.train], episode.known).any()


@given(st.integers(2, 6), st.floats(0.01, 0.99))
def test_classes_of_a_few_images_have_one_to_learn_from_and_one_to_test_with(size, fraction):
    labels = repeated([size] * 6)
    spec = EpisodeSpec(labelled=5, novel=(1,), test_fraction=fraction)
    assume(round(fraction * size) < size)
    episode = draw_episode(labels, spec, Seeds(0))
    assert set(labels[episode.labelled]) == set(labels[episode.labelled_test]) == set(episode.known)


@pytest.mark.parametrize(
    ("labels", "spec", "message"),
    [
        (LABELS, EpisodeSpec(labelled=6, novel=(1, 1)), "asks for 8 classes .* session 0 has 7"),
        (np.arange(7), EpisodeSpec(), "has 1 labelled image; an episode needs 2 or more"),
        (
            LABELS,
            EpisodeSpec(labelled=1, novel=(3,)),
            "Pseudo session 1 would hold .* Raise `labelled` or lower `novel`",
        ),
        (repeated([2] * 7), EpisodeSpec(labelled=4, novel=(0, 0, 0)), "Pseudo session . would hold no image"),
        (np.zeros(0, dtype=np.int64), EpisodeSpec(), "There are no labelled labels"),
    ],
)
def test_what_cannot_be_drawn_is_refused(labels, spec, message):
    with pytest.raises(InputError, match=message):
        draw_episode(labels, spec, Seeds(0))
