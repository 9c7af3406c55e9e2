import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam

from metagcd.engine.checkpoint import Keeper, State, load_state, restore_training, save_state, training_state
from metagcd.errors import InputError


def some_state():
    tensors = {
        "a": torch.randn(3, 2, dtype=torch.float64),
        "half": torch.randn(4).bfloat16(),
        "count": torch.tensor(7),
        "empty": torch.zeros(0, 3),
        "turned": torch.arange(6.0).view(2, 3).T,
    }
    return State(tensors, {"step": 3, "text": "ü", "list": [1, 2.5, None]})


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(one[k], other[k]) and one[k].dtype == other[k].dtype for k in one
    )


def test_a_state_comes_back_from_its_file_to_the_bit(tmp_path):
    state, file = some_state(), tmp_path / "deep" / "state.safetensors"
    save_state(file, state)
    found = load_state(file)
    assert same(found.tensors, state.tensors)
    assert found.values == state.values
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("keep", [0, 4, 8, 40, 200, -1])
def test_a_cut_off_file_is_an_error_that_names_it(tmp_path, keep):
    file = tmp_path / "state.safetensors"
    save_state(file, some_state())
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"Cannot read the state .*state\.safetensors"):
        load_state(file)


@pytest.mark.parametrize("content", [b"", b"not tensors", bytes(64), b"\xff" * 64, b"\x02" + bytes(7) + b"{}"])
def test_another_file_is_an_error_that_names_it(tmp_path, content):
    file = tmp_path / "state.safetensors"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"Cannot read the state .*state\.safetensors") as error:
        load_state(file)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(InputError, match=r"Cannot read the state .*absent"):
        load_state(tmp_path / "absent")


def test_a_safetensors_file_of_another_program_is_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(1)}, tmp_path / "other")
    save_file({"a": torch.ones(1)}, tmp_path / "tagged", metadata={"format": "pt"})
    for name in ("other", "tagged"):
        with pytest.raises(InputError, match=name):
            load_state(tmp_path / name)


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_an_optimiser_goes_on_with_its_momentum(tmp_path, kind):
    def make():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        parameters = list(module.parameters())
        return module, SGD(parameters, lr=0.1, momentum=0.9) if kind == "sgd" else Adam(parameters, lr=0.1)

    def descend(module, optimiser, steps):
        for step in steps:
            x = torch.arange(15.0).view(5, 3) / (step + 1)
            optimiser.zero_grad()
            module(x).square().sum().backward()
            optimiser.step()

    whole, whole_optimiser = make()
    descend(whole, whole_optimiser, range(6))
    first, first_optimiser = make()
    descend(first, first_optimiser, range(3))
    save_state(tmp_path / "state", training_state(first, first_optimiser, 3))
    second, second_optimiser = make()
    assert restore_training(load_state(tmp_path / "state"), second, second_optimiser) == 3
    descend(second, second_optimiser, range(3, 6))
    assert same(second.state_dict(), whole.state_dict())


def test_a_keeper_without_a_folder_keeps_nothing():
    keeper = Keeper()
    keeper.keep("stage", some_state())
    assert keeper.find("stage") is None
    assert not keeper.due("stage")


def test_a_keeper_gives_back_the_last_state_of_each_stage(tmp_path):
    keeper = Keeper(tmp_path, every=0.0)
    assert keeper.find("one") is None
    keeper.keep("one", State({}, {"step": 1}))
    keeper.keep("one", State({}, {"step": 2}))
    keeper.keep("two", State({}, {"step": 9}))
    assert [Keeper(tmp_path).find(name).values["step"] for name in ("one", "two")] == [2, 9]
    assert keeper.due("one")


def test_a_keeper_waits_between_two_saves(tmp_path):
    keeper = Keeper(tmp_path, every=3600.0)
    keeper.find("stage")
    assert not keeper.due("stage")
    keeper.keep("stage", State({}, {}))
    assert not keeper.due("stage")


def steps_in(folder):
    return {file.name: load_state(file).values["step"] for file in sorted(folder.iterdir())}


def test_the_last_states_of_a_stage_are_kept_and_older_ones_removed(tmp_path):
    keeper = Keeper(tmp_path, last=3)
    for step in range(6):
        keeper.keep("one", State({}, {"step": step}))
        keeper.keep("one-more", State({}, {"step": -step}))
    one = {"one.safetensors": 5, "one.1.safetensors": 4, "one.2.safetensors": 3}
    more = {"one-more.safetensors": -5, "one-more.1.safetensors": -4, "one-more.2.safetensors": -3}
    assert steps_in(tmp_path) == one | more
    Keeper(tmp_path, last=1).keep("one", State({}, {"step": 6}))
    assert steps_in(tmp_path) == {"one.safetensors": 6} | more


def test_the_newest_state_that_can_be_read_is_found_and_outlives_the_next_save(tmp_path):
    keeper = Keeper(tmp_path, last=2)
    for step in range(2):
        keeper.keep("one", State({}, {"step": step}))
    newest = tmp_path / "one.safetensors"
    newest.write_bytes(newest.read_bytes()[:20])
    assert keeper.find("one").values["step"] == 0
    keeper.keep("one", State({}, {"step": 7}))
    assert steps_in(tmp_path) == {"one.safetensors": 7, "one.1.safetensors": 0}


def test_states_of_which_none_can_be_read_are_an_error_that_names_the_newest(tmp_path):
    keeper = Keeper(tmp_path, last=2)
    for _ in range(2):
        keeper.keep("one", State({}, {"step": 0}))
    for file in tmp_path.iterdir():
        file.write_bytes(b"")
    with pytest.raises(InputError, match=r"one\.safetensors"):
        keeper.find("one")


@pytest.mark.parametrize("renamed", [1, 2])
def test_an_end_between_renaming_and_saving_loses_no_state(tmp_path, renamed):
    keeper = Keeper(tmp_path, last=3)
    for step in range(3):
        keeper.keep("one", State({}, {"step": step}))
    (tmp_path / "one.1.safetensors").replace(tmp_path / "one.2.safetensors")
    if renamed == 2:
        (tmp_path / "one.safetensors").replace(tmp_path / "one.1.safetensors")
    assert keeper.find("one").values["step"] == 2


def test_keeping_no_state_is_refused():
    with pytest.raises(InputError, match="At least 1 state"):
        Keeper(last=0)
