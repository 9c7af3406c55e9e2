import math

import pytest
import torch

from metagcd.losses.ranking import FLOOR
from metagcd.methods.pairing import PairingConfig, pairing_loss


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def softmax(row):
    total = sum(math.exp(float(value)) for value in row)
    return [math.exp(float(value)) / total for value in row]


@pytest.mark.parametrize("risen", [0.0, 0.4])
def test_the_loss_of_a_batch_is_that_of_plain_loops(risen):
    features, logits, config = drawn(8, 6), drawn(8, 3, seed=1), PairingConfig(top=2, consistency_weight=7.0)
    tops = [set(features[i].topk(2).indices.tolist()) for i in range(4)]
    p, q = [softmax(logits[i]) for i in range(4)], [softmax(logits[4 + i]) for i in range(4)]
    pairs = 0.0
    for i in range(4):
        for j in range(4):
            agree = sum(a * b for a, b in zip(p[i], q[j], strict=True))
            pairs -= math.log((agree if tops[i] == tops[j] else 1 - agree) + FLOOR)
    apart = sum((p[i][c] - q[i][c]) ** 2 for i in range(4) for c in range(3))
    found = pairing_loss(features, logits, config, risen=risen)
    assert float(found) == pytest.approx(pairs / 16 + risen * 7.0 * apart / 12, rel=1e-6)


def test_the_features_of_view_1_judge_pairs_and_get_no_gradient_from_it():
    features, logits = drawn(8, 6).requires_grad_(), drawn(8, 3, seed=1)
    before = pairing_loss(features, logits, PairingConfig(), risen=1.0)
    assert not before.requires_grad
    other = torch.cat([features[:4], drawn(4, 6, seed=2)])
    assert float(pairing_loss(other, logits, PairingConfig(), risen=1.0)) == float(before)


def test_consistency_rises_over_its_share_of_the_session():
    config = PairingConfig(rise=0.5)
    assert config.risen(0, 20) == pytest.approx(math.exp(-5))
    assert config.risen(5, 20) == pytest.approx(math.exp(-5 / 4))
    assert config.risen(10, 20) == config.risen(19, 20) == 1
    assert PairingConfig(rise=0.0).risen(0, 20) == 1


@pytest.mark.parametrize("images", [1, 2])
def test_one_image_and_one_class_give_finite_gradients(images):
    features, logits = drawn(2 * images, 6), drawn(2 * images, 1).requires_grad_()
    loss = pairing_loss(features, logits, PairingConfig(), risen=1.0)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()
