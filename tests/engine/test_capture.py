import numpy as np
import pytest
import torch
from engine import feeds

from metagcd.engine.capture import WARM_UP, Captured
from metagcd.engine.feed import Batch

gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def batch(start, images=3, device="cpu"):
    rows = np.arange(start, start + images)
    return Batch(rows, torch.arange(2.0 * images * 4, device=device).view(2 * images, 4) + start)


def test_the_work_is_done_once_for_every_batch_on_its_tokens_and_rows():
    seen = []
    work = Captured(lambda held: seen.append((held.tokens.clone(), held.indices.clone())) or float(held.tokens.sum()))
    given = [batch(start) for start in (5, 0, 9)]
    assert [work(one) for one in given] == [float(one.tokens.sum()) for one in given]
    for one, (tokens, indices) in zip(given, seen, strict=True):
        assert torch.equal(tokens, one.tokens)
        assert indices.tolist() == one.rows.tolist()


def test_every_batch_lies_where_the_first_one_lay_and_the_batches_given_stay_as_they_are():
    work = Captured(lambda held: (held.tokens.data_ptr(), held.indices.data_ptr(), len(held.rows)))
    given = [batch(start) for start in (5, 0, 9)]
    assert len({work(one) for one in given}) == 1
    assert all(torch.equal(one.tokens, batch(int(one.rows[0])).tokens) for one in given)


def test_a_batch_of_another_shape_is_worked_on_as_it_comes():
    work = Captured(lambda held: held)
    held, other = work(batch(0)), batch(7, images=2)
    assert work(other) is other
    assert work(batch(1)) is held


def test_rows_stand_beside_the_tokens():
    assert batch(4).indices.tolist() == [4, 5, 6]
    assert Batch(np.arange(2), torch.zeros(4, 1), place=torch.tensor([8, 9])).indices.tolist() == [8, 9]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=gpu)])
def test_updates_that_are_captured_are_those_that_are_not(device):
    answers = []
    for wrap in (Captured, lambda work: work):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            layer = torch.nn.Linear(4, 2).to(device)
        optimiser = torch.optim.SGD(layer.parameters(), lr=torch.tensor(0.01, device=device), momentum=0.9, fused=True)

        def update(held, layer=layer, optimiser=optimiser):
            optimiser.zero_grad()
            loss = (layer(held.tokens / 30).square().mean(dim=1) * held.indices.repeat(2)).mean()
            loss.backward()
            optimiser.step()
            return loss.detach()

        advance = wrap(update)
        losses = [float(advance(batch(step, device=device))) for step in range(WARM_UP + 4)]
        answers.append((losses, feeds.weights(layer).cpu()))
    (losses, weights), (expected, expected_weights) = answers
    assert losses == pytest.approx(expected, rel=1e-5)
    torch.testing.assert_close(weights, expected_weights)
