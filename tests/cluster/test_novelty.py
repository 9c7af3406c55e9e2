import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metagcd.cluster.novelty import novelty, upper_group


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_novelty_is_the_distance_to_the_nearest_mean_written_out():
    features, means = drawn(5, 3), drawn(2, 3, seed=1)
    found = novelty(features, means)
    for i, feature in enumerate(features):
        cosines = [float(sum(feature * m) / (sum(feature**2) * sum(m**2)) ** 0.5) for m in means]
        assert float(found[i]) == pytest.approx(1 - max(cosines))


def test_where_nothing_is_known_all_is_as_new_as_can_be():
    assert novelty(drawn(3, 4), drawn(0, 4)).tolist() == [2.0] * 3
    assert novelty(drawn(0, 4), drawn(2, 4)).shape == (0,)


@given(values=st.lists(st.integers(-4, 4), max_size=12))
def test_the_parting_is_the_best_of_all_that_plain_loops_try(values):
    scores = torch.tensor(values, dtype=torch.float64)
    found = upper_group(scores)
    best, chosen = -1.0, None
    for cut in sorted(set(values))[:-1]:
        low, high = [v for v in values if v <= cut], [v for v in values if v > cut]
        between = len(low) * len(high) * (sum(high) / len(high) - sum(low) / len(low)) ** 2
        if between > best + 1e-9:
            best, chosen = between, cut
    if chosen is None:
        assert not found.any()
        return
    low, high = scores[~found].tolist(), scores[found].tolist()
    assert max(low) < min(high)
    assert len(low) * len(high) * (sum(high) / len(high) - sum(low) / len(low)) ** 2 == pytest.approx(best)


def test_two_groups_are_parted_between_them():
    scores = torch.tensor([0.1, 0.9, 0.12, 0.08, 0.95, 0.11])
    assert upper_group(scores).tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize("scores", [[], [1.0], [0.5, 0.5, 0.5]])
def test_where_there_is_nothing_to_part_there_is_no_upper_group(scores):
    assert upper_group(torch.tensor(scores)).tolist() == [False] * len(scores)
