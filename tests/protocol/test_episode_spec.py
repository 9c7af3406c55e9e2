import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagcd.errors import InputError
from metagcd.protocol import EpisodeSpec, ProtocolSpec, default_episode, named_protocol


@pytest.mark.parametrize(
    ("name", "labelled", "novel"),
    [
        ("metagcd-cifar10", 4, (1,) * 3),
        ("metagcd-cifar100", 60, (5,) * 4),
        ("metagcd-tiny-imagenet", 100, (10,) * 5),
        ("promptccd-cifar100", 40, (10,) * 3),
        ("happy-cifar100-5", 29, (4, 4, 4, 4, 5)),
        ("digits-no-novel", 5, (1, 0, 1)),
        ("digits-20-sessions", 2, (1,)),
    ],
)
def test_the_default_episode_is_the_papers_where_the_paper_has_one(name, labelled, novel):
    assert default_episode(named_protocol(name)) == EpisodeSpec(labelled=labelled, novel=novel)


@given(st.integers(3, 200), st.lists(st.integers(0, 30), min_size=1, max_size=25))
def test_a_default_episode_uses_every_known_class_and_labels_four_sevenths_at_least(known, novel):
    episode = default_episode(ProtocolSpec(known=known, novel=tuple(novel)))
    assert episode.classes == known
    assert 7 * sum(episode.novel) <= 3 * known
    assert len(episode.novel) <= len(novel)
    assert (sum(episode.novel) > 0) == (sum(novel) > 0)


def test_too_few_known_classes_are_refused():
    with pytest.raises(InputError, match="at least 3 known classes; `known` is 2"):
        default_episode(ProtocolSpec(known=2))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"labelled": 0}, "`labelled` must be at least 1"),
        ({"novel": ()}, "`novel` must be"),
        ({"novel": (-1,)}, "`novel` must be"),
        ({"test_fraction": 0.0}, r"`test_fraction` must be in \(0, 1\)"),
        ({"warmup_fraction": 1.0}, "`warmup_fraction` must be"),
        ({"novel_fraction": -0.1}, "`novel_fraction` must be"),
    ],
)
def test_what_no_labels_could_satisfy_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        EpisodeSpec(**values)
