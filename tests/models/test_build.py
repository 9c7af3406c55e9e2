import subprocess
import sys

import pytest

from metagcd.errors import InputError
from metagcd.models import build_encoder


def test_the_tiny_encoder_is_built_by_name():
    encoder = build_encoder("tiny", image_size=8, trainable_from=3, weights="random")
    assert encoder.spec.size == 8
    assert encoder.weights.source == "random"
    assert encoder.dim == 96


def test_listing_the_encoders_imports_neither_torch_nor_timm():
    code = (
        "import sys; from metagcd.models import ENCODERS; "
        "assert 'tiny' in ENCODERS.names() and ENCODERS.summary('tiny'); "
        "print(*sorted({'torch', 'timm', 'torchvision'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(InputError, match="tiny"):
        build_encoder("tinny")
