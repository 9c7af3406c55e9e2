from dataclasses import fields, replace

import pytest

from metagcd.data.views import Augmentation
from metagcd.models.bank_key import BankKey, digest_of
from metagcd.types import InputSpec

KEY = BankKey(
    images="a",
    trunk="b",
    precision="float32",
    spec=InputSpec(size=8),
    views=(1, 2),
    augmentation=Augmentation(),
    seed=0,
    redraw=0,
    dtype="bfloat16",
)
OTHERS = [
    {"images": "c"},
    {"trunk": "c"},
    {"precision": "torch.bfloat16"},
    {"spec": InputSpec(size=9)},
    {"spec": InputSpec(size=8, crop_fraction=1.0)},
    {"views": (1, 2, 3)},
    {"augmentation": Augmentation(flip=0.0)},
    {"augmentation": None},
    {"seed": 1},
    {"redraw": 1},
    {"dtype": "float16"},
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other)))
def test_every_ingredient_changes_the_name(other):
    assert replace(KEY, **other).digest != KEY.digest


def test_no_ingredient_is_left_out_here():
    assert {name for other in OTHERS for name in other} == {field.name for field in fields(BankKey)}


def test_equal_keys_have_equal_names():
    again = replace(KEY, augmentation=Augmentation(), spec=InputSpec(size=8))
    assert again.digest == KEY.digest
    assert len(KEY.digest) == 16


def test_a_checksum_is_of_the_bytes_one_after_another():
    assert digest_of(b"ab", b"c") == digest_of(b"abc") != digest_of(b"abd")
