import numpy as np
import pytest
import torch

from metagcd.cluster import kmeans
from metagcd.cluster.points import BLOCK, as_points, blocks, unit_rows
from metagcd.errors import InputError

POINTS = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("x", "k", "restarts", "words"),
    [
        (POINTS, 0, 1, "at least 1; got 0"),
        (POINTS, 7, 1, "7 clusters in 6 rows"),
        (POINTS, 2, 0, "restarts must be at least 1; got 0"),
        (POINTS[0], 1, 1, r"got shape \(2,\)"),
        (np.where(np.arange(6)[:, None] < 2, np.nan, POINTS), 2, 1, "2 of 6 rows"),
        (np.where(np.arange(6)[:, None] < 1, -np.inf, POINTS), 2, 1, "1 of 6 rows"),
    ],
)
def test_unusable_input_is_named(x, k, restarts, words):
    with pytest.raises(InputError, match=words):
        kmeans(x, k, seed=0, restarts=restarts)


def test_large_finite_numbers_are_accepted():
    assert as_points(np.full((3, 2), 3e38, dtype=np.float32)).shape == (3, 2)


def test_whole_numbers_become_single_precision_and_doubles_stay():
    assert as_points(np.ones((2, 2), dtype=np.int64)).dtype == torch.float32
    assert as_points(np.ones((2, 2), dtype=np.float16)).dtype == torch.float32
    assert as_points(np.ones((2, 2))).dtype == torch.float64


def test_blocks_cover_every_row_once_within_bounds():
    parts = blocks(100, BLOCK // 7)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(100))
    assert all((part.stop - part.start) * (BLOCK // 7) <= BLOCK for part in parts)
    assert len(blocks(3, 10 * BLOCK)) == 3


def test_a_row_of_zeros_stays_when_rows_are_brought_to_length_one():
    rows = unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))
