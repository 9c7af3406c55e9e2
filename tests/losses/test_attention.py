"""Learned positiveness scores."""

import torch

from metagcd.losses import Attention, Positiveness, soft_neighbour


def test_scores_are_the_products_of_two_learned_projections() -> None:
    attention = Attention(3, width=2)
    z = torch.eye(4)[:, :3]
    f1, f2 = attention.f1.weight.detach(), attention.f2.weight.detach()
    scores = attention(z)
    for i in range(4):
        for j in range(4):
            assert torch.isclose(scores[i, j], (f1 @ z[i]) @ (f2 @ z[j]), atol=1e-6)


def test_the_loss_teaches_both_projections() -> None:
    attention = Attention(3, width=2)
    z = torch.nn.functional.normalize(torch.randn(6, 3, generator=torch.Generator().manual_seed(0)) + 1, dim=1)
    soft_neighbour(z, threshold=0.0, temperature=0.5, positiveness=Positiveness(scores=attention(z))).backward()
    for parameter in attention.parameters():
        assert parameter.grad is not None
        assert parameter.grad.abs().max() > 0
