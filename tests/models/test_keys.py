import pytest
import torch

from metagcd.models.keys import network_tensors

WANTED = {"stem.weight": torch.zeros(2, 3), "norm.weight": torch.zeros(2), "norm.bias": torch.zeros(2)}


def values(start=0.0):
    return {name: torch.full_like(tensor, start + place) for place, (name, tensor) in enumerate(WANTED.items())}


def prefixed(prefix, tensors):
    return {f"{prefix}{name}": tensor for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    "prefix", ["", "module.", "backbone.", "encoder.", "model.", "module.backbone.", "_orig_mod.module.encoder."]
)
def test_prefixes_of_training_scripts_are_stripped(prefix):
    assert network_tensors(prefixed(prefix, values()), WANTED).keys() == WANTED.keys()


@pytest.mark.parametrize("holder", ["state_dict", "model", "teacher", "student", "model_ema"])
def test_sub_dictionaries_are_opened(holder):
    checkpoint = {holder: prefixed("module.backbone.", values()), "epoch": 3, "optimizer": {"state": {}}}
    assert network_tensors(checkpoint, WANTED).keys() == WANTED.keys()


def test_of_teacher_and_student_the_teacher_is_taken():
    nested = {"student": prefixed("module.", values(10)), "teacher": prefixed("backbone.", values(0))}
    flat = {**prefixed("student.", values(10)), **prefixed("teacher.", values(0))}
    for checkpoint in (nested, flat):
        found = network_tensors(checkpoint, WANTED)
        assert found.keys() == WANTED.keys()
        assert float(found["stem.weight"].max()) == 0


def test_heads_that_the_network_lacks_are_left_out():
    heads = {"head.mlp.0.weight": torch.zeros(1), "fc.bias": torch.zeros(1), "classifier.weight": torch.zeros(1)}
    assert network_tensors({**values(), **heads}, WANTED).keys() == WANTED.keys()


def test_a_head_that_the_network_has_is_kept():
    wanted = {**WANTED, "head.weight": torch.zeros(1)}
    assert "head.weight" in network_tensors({**values(), "head.weight": torch.ones(1)}, wanted)


def test_an_unknown_tensor_is_kept_for_the_loader_to_complain_about():
    assert "mystery.weight" in network_tensors({**values(), "mystery.weight": torch.zeros(1)}, WANTED)


def test_a_prefix_that_the_network_itself_uses_stays():
    wanted = {"encoder.weight": torch.zeros(1)}
    assert network_tensors({"encoder.weight": torch.ones(1)}, wanted).keys() == wanted.keys()


def test_foreign_names_are_matched_in_order_when_every_kind_and_shape_agrees():
    foreign = {"_a.weight": torch.ones(2, 3), "_b.weight": torch.ones(2) * 2, "_b.bias": torch.ones(2) * 3}
    found = network_tensors({**foreign, "_fc.weight": torch.zeros(9, 2)}, WANTED)
    assert {name: float(tensor.max()) for name, tensor in found.items()} == {
        "stem.weight": 1,
        "norm.weight": 2,
        "norm.bias": 3,
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"_a.weight": torch.ones(3, 2), "_b.weight": torch.ones(2), "_b.bias": torch.ones(2)},
        {"_a.weight": torch.ones(2, 3), "_b.bias": torch.ones(2), "_b.weight": torch.ones(2)},
        {"_a.weight": torch.ones(2, 3), "_b.weight": torch.ones(2)},
    ],
)
def test_foreign_names_are_not_matched_when_one_kind_or_shape_differs(changed):
    assert network_tensors(changed, WANTED).keys() == changed.keys()
