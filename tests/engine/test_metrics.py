"""What is written of the course of training: every update at most once, whatever happened between."""

import json
import sys
from dataclasses import replace

import pytest
import torch
from engine import feeds

from metagcd.engine.checkpoint import Keeper
from metagcd.engine.metrics import Metrics, require_tensorboard
from metagcd.engine.runtime import Runtime
from metagcd.engine.training import CHECK_EVERY, Optimisation, Stage
from metagcd.errors import InputError


def stage(amount, *, name="warm", number=0, **how):
    return Stage(name=name, amount=amount, unit="update", optimisation=Optimisation(batch=8, **how), number=number)


def feed(folder, *, every=0.0, tensorboard=False):
    runtime = Runtime(
        keeper=Keeper(folder / "stages", every=every),
        metrics=Metrics(folder=folder, tensorboard=tensorboard),
        threads=1,
    )
    return replace(feeds.feed(), runtime=runtime)


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def course(folder):
    return [(line["stage"], line["number"], line["step"]) for line in lines(folder)]


def test_a_line_comes_every_so_many_updates_and_at_the_end(tmp_path):
    feeds.trained(stage(CHECK_EVERY + 3, rate=0.01), feed(tmp_path))
    assert course(tmp_path) == [("warm", 0, step) for step in (0, CHECK_EVERY, CHECK_EVERY + 2)]
    for line in lines(tmp_path):
        assert line["loss"] > 0
        assert line["rate"] > 0
        assert line["images_per_second"] > 0
        assert "gradient_norm" not in line
    seconds = [line["seconds"] for line in lines(tmp_path)]
    assert seconds == sorted(seconds)


def test_the_norm_of_the_gradient_is_told_where_it_is_clipped_as_it_was_before(tmp_path):
    source = feed(tmp_path)
    parameter = next(source.encoder.tail.parameters())
    feeds.trained(stage(1, clip=0.5), source, loss=lambda *_: 7.0 * parameter.flatten()[0])
    assert lines(tmp_path)[0]["gradient_norm"] == pytest.approx(7.0)


@pytest.mark.parametrize("every", [0.0, 3600.0])
@pytest.mark.parametrize("killed_at", [0, 1, CHECK_EVERY + 1, 2 * CHECK_EVERY])
def test_an_interrupted_stage_tells_every_update_once(tmp_path, killed_at, every):
    whole = stage(2 * CHECK_EVERY + 1, rate=0.01)
    feeds.trained(whole, feed(tmp_path / "whole"))
    with pytest.raises(feeds.KilledError):
        feeds.trained(whole, feed(tmp_path / "cut", every=every), killed_at=killed_at)
    feeds.trained(whole, feed(tmp_path / "cut", every=every))
    told = ("stage", "number", "step", "loss", "rate")
    expected, found = ([{k: line[k] for k in told} for line in lines(tmp_path / name)] for name in ("whole", "cut"))
    assert found == expected


def test_a_line_that_was_cut_off_is_dropped(tmp_path):
    feeds.trained(stage(3, name="one"), feed(tmp_path))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"stage": "two", "num')
    feeds.trained(stage(1, name="two"), feed(tmp_path))
    assert course(tmp_path) == [("one", 0, 0), ("one", 0, 2), ("two", 0, 0)]


def test_a_stage_that_is_done_again_drops_what_later_ones_of_its_name_told(tmp_path):
    metrics = Metrics(folder=tmp_path)
    for number in (0, 1, 2):
        with metrics.course("warm", 0, number=number) as told:
            told.tell(0, loss=1.0)
    with metrics.course("warm", 0, number=1) as told:
        told.tell(0, loss=2.0)
    assert course(tmp_path) == [("warm", 0, 0), ("warm", 1, 0)]
    assert lines(tmp_path)[1]["loss"] == 2.0


def test_the_seconds_of_a_stage_go_on_where_they_were(tmp_path):
    with Metrics(folder=tmp_path).course("warm", 0) as told:
        told.spent = 100.0
        told.tell(0)
    with Metrics(folder=tmp_path).course("warm", 1) as told:
        told.tell(1)
    assert lines(tmp_path)[1]["seconds"] >= 100


def test_without_a_folder_nothing_is_written_and_the_weights_are_the_same(tmp_path):
    silent, telling = feeds.feed(), feed(tmp_path)
    for source in (silent, telling):
        feeds.trained(stage(4, rate=0.01), source)
    assert torch.equal(feeds.weights(silent.encoder.tail), feeds.weights(telling.encoder.tail))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_event_files_hold_the_same_numbers_once(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    chosen = stage(CHECK_EVERY + 1, rate=0.01)
    with pytest.raises(feeds.KilledError):
        feeds.trained(chosen, feed(tmp_path, every=3600.0, tensorboard=True), killed_at=CHECK_EVERY)
    feeds.trained(chosen, feed(tmp_path, tensorboard=True))
    events = EventAccumulator(str(tmp_path / "tensorboard" / "warm")).Reload()
    shown = [(event.step, event.value) for event in events.Scalars("loss")]
    assert shown == [(line["step"], pytest.approx(line["loss"])) for line in lines(tmp_path)]


def test_a_missing_tensorboard_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(InputError, match=r"`tensorboard` is not installed.*metrics\.jsonl") as error:
        require_tensorboard()
    assert "\n" not in str(error.value)
