import numpy as np
import pytest

from metagcd.data.draws import Draw, uniforms

MANY = np.arange(200_000, dtype=np.int64)


def draw(images=MANY, *, seed=7, epoch=0, view=1):
    return Draw(seed=seed, images=images, epoch=epoch, view=view)


def test_numbers_are_uniform_in_the_unit_interval():
    u = draw().uniform("flip")
    assert u.min() >= 0
    assert u.max() < 1
    assert u.mean() == pytest.approx(1 / 2, abs=0.003)
    assert u.var() == pytest.approx(1 / 12, abs=0.001)
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    # The statistic has 99 degrees of freedom: mean 99, standard deviation 14.
    assert ((counts - 2000) ** 2 / 2000).sum() < 99 + 5 * 14


@pytest.mark.parametrize(
    "other",
    [
        draw(seed=8).uniform("flip"),
        draw(epoch=1).uniform("flip"),
        draw(view=2).uniform("flip"),
        draw().uniform("top"),
        draw(MANY + 1).uniform("flip"),
    ],
    ids=["seed", "epoch", "view", "purpose", "neighbour"],
)
def test_numbers_for_different_things_are_independent(other):
    one = draw().uniform("flip")
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(len(one))
    # Not even a shifted or reordered copy: no number occurs twice, except of the images both have.
    shared = np.intersect1d(one, other).size
    assert shared == (len(one) - 1 if np.array_equal(one[1:], other[:-1]) else 0)


def test_no_two_images_share_bits():
    assert np.unique(draw().bits("flip")).size == MANY.size


def test_every_bit_is_set_half_of_the_time():
    bits = draw().bits("flip")
    shares = [((bits >> np.uint64(place)) & np.uint64(1)).mean() for place in range(64)]
    np.testing.assert_allclose(shares, 0.5, atol=5 * 0.5 / np.sqrt(MANY.size))


def test_an_image_keeps_its_number_in_any_batch():
    rows = np.array([5, 190_000, 3, 5], dtype=np.int64)
    np.testing.assert_array_equal(draw(rows).uniform("top"), draw().uniform("top")[rows])


def test_numbers_stay_between_the_bounds():
    u = draw().uniform("angle", -2.0, 3.0)
    assert -2 <= u.min() < -1.99
    assert 2.99 < u.max() < 3


def test_draws_stand_one_after_another():
    one, two = draw(view=1), draw(view=2)
    both = uniforms([one, two], "top", 1.0, 2.0)
    np.testing.assert_array_equal(both, np.concatenate([one.uniform("top", 1.0, 2.0), two.uniform("top", 1.0, 2.0)]))


def test_numbers_stay_what_they_were_on_every_machine():
    # Computed by this file's function with Python's unbounded integers in place of numpy's.
    assert draw(np.array([0, 1, 2**40], dtype=np.int64)).bits("flip").tolist() == [plain(i) for i in (0, 1, 2**40)]


def plain(image: int) -> int:
    from hashlib import blake2b

    key = int.from_bytes(blake2b(b"7/0/1/flip", digest_size=8).digest(), "big")

    def mixed(x: int) -> int:
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
        return x ^ (x >> 31)

    return mixed(mixed((image * 0x9E3779B97F4A7C15 + key) % 2**64) ^ key)
