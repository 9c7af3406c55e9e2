import numpy as np
import pytest
from protocol.cases import shaped_like

from metagcd.errors import InputError
from metagcd.protocol import default_episode, draw_episode, named_protocol, protocol_names, split
from metagcd.seeds import Seeds


def drawn(name):
    labels, test_labels = shaped_like(name)
    return labels, split(labels, test_labels, named_protocol(name), 0)


def counts_by_class(name):
    """Return images of every class, in class order, in session 0 and every later one."""
    labels, protocol = drawn(name)
    parts = [protocol.offline, *(session.train for session in protocol.sessions)]
    return np.stack([np.bincount(labels[rows], minlength=labels.max() + 1) for rows in parts])[:, protocol.class_order]


def test_the_names_are_those_of_the_papers_and_of_the_digits():
    assert set(protocol_names()) == {
        "digits",
        "digits-20-sessions",
        "digits-long-tail",
        "digits-no-novel",
        "digits-only-novel",
        "digits-uneven",
        "happy-cifar100-10",
        "happy-cifar100-5",
        "happy-cub-10",
        "happy-cub-5",
        "happy-tiny-imagenet-10",
        "happy-tiny-imagenet-5",
        "metagcd-cifar10",
        "metagcd-cifar100",
        "metagcd-tiny-imagenet",
        "promptccd-cifar100",
        "promptccd-tiny-imagenet",
    }


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(InputError, match=r"Unknown protocol `metagcd-cifar`\. Did you mean `metagcd-cifar10"):
        named_protocol("metagcd-cifar")


@pytest.mark.parametrize("name", protocol_names())
def test_every_named_protocol_fits_its_data_and_has_an_episode(name):
    labels, protocol = drawn(name)
    own = labels[protocol.offline]
    episode = draw_episode(own, default_episode(protocol.spec), Seeds(0))
    assert len(episode.labelled) > max(len(session.train) for session in episode.sessions)


@pytest.mark.parametrize(
    ("name", "known", "sessions", "per_session", "offline", "unlabelled", "novel", "seen"),
    [
        ("metagcd-cifar10", 7, 3, 1, 28_000, 22_000, 3000, 2000),
        ("metagcd-cifar100", 80, 4, 5, 32_000, 18_000, 1500, 2000),
        ("metagcd-tiny-imagenet", 150, 5, 10, 60_000, 40_000, 3000, 3000),
    ],
)
def test_table_1_and_the_session_wise_split_of_the_paper_come_out_exactly(
    name, known, sessions, per_session, offline, unlabelled, novel, seen
):
    labels, protocol = drawn(name)
    assert (len(protocol.known), len(protocol.sessions), len(protocol.offline)) == (known, sessions, offline)
    assert len(labels) - len(protocol.offline) == unlabelled
    for place, session in enumerate(protocol.sessions):
        is_new = np.isin(labels[session.train], session.novel)
        assert len(session.novel) == per_session
        assert len(session.known) == known + place * per_session
        assert (np.count_nonzero(is_new), np.count_nonzero(~is_new)) == (novel, seen)
        counts = np.bincount(labels[session.train], minlength=labels.max() + 1)[list(session.known)]
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(
    ("name", "known", "per_session"),
    [
        ("happy-cifar100-5", 50, 10),
        ("happy-cifar100-10", 50, 5),
        ("happy-tiny-imagenet-5", 100, 20),
        ("happy-tiny-imagenet-10", 100, 10),
    ],
)
def test_happy_takes_400_of_a_new_class_and_25_of_any_met_before(name, known, per_session):
    counts = counts_by_class(name)
    assert (counts[0, :known] == 400).all()
    for session, online in enumerate(counts[1:]):
        met = known + session * per_session
        assert (online[:met] == 25).all()
        assert (online[met : met + per_session] == 400).all()
        assert (online[met + per_session :] == 0).all()


@pytest.mark.parametrize(("name", "per_session"), [("happy-cub-5", 20), ("happy-cub-10", 10)])
def test_happy_takes_25_of_a_new_bird_and_5_of_any_met_before(name, per_session):
    counts = counts_by_class(name)
    assert set(counts[0, :100]) <= {23, 24}
    for session, online in enumerate(counts[1:]):
        met = 100 + session * per_session
        assert (online[:met] == 5).all()
        assert (online[met : met + per_session] == 25).all()


@pytest.mark.parametrize("name", ["happy-cifar100-5", "happy-tiny-imagenet-5"])
def test_happys_new_classes_come_in_the_released_order(name):
    spec = named_protocol(name)
    # Legacy generator, seed 0: what the released code shuffles with.
    new = np.arange(spec.known, 2 * spec.known)
    np.random.RandomState(0).shuffle(new)
    assert spec.class_order == (*range(spec.known), *new.tolist())


@pytest.mark.parametrize(
    ("name", "known", "per_session"), [("promptccd-cifar100", 70, 10), ("promptccd-tiny-imagenet", 140, 20)]
)
def test_promptccd_takes_images_by_the_age_of_a_class(name, known, per_session):
    counts = counts_by_class(name)
    groups = np.split(counts, [known, known + per_session, known + 2 * per_session], axis=1)
    schedule = [[435, 35, 15, 15], [0, 350, 100, 50], [0, 0, 450, 50], [0, 0, 0, 500]]
    for group, expected in zip(groups, schedule, strict=True):
        assert (group == np.array(expected)[:, None]).all()
    assert (counts.sum(axis=0) == 500).all()


def test_the_stress_protocols_are_what_their_names_say():
    empty = drawn("digits-no-novel")[1].sessions[1]
    assert empty.novel == ()
    assert len(empty.train) == 54
    labels, only = drawn("digits-only-novel")
    assert all(set(labels[session.train]) == set(session.novel) for session in only.sessions)
    assert [len(session.novel) for session in drawn("digits-uneven")[1].sessions] == [1, 2, 3]
    assert len(drawn("digits-20-sessions")[1].sessions) == 20
    labels, tail = drawn("digits-long-tail")
    sizes = np.bincount(labels[tail.offline])[:7]
    assert sizes.max() > 3 * sizes.min()
