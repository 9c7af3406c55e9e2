import copy
from dataclasses import dataclass

import pytest
import torch
from models import test_assemble as families
from torch.nn.functional import normalize

from metagcd.losses import labelled_from_similarity, soft_neighbour_from_similarity
from metagcd.methods.contrastive import HeadConfig, Network

HEAD = HeadConfig(hidden=16, bottleneck=8, width=40)
CLASSES = torch.tensor([0, 1, 0])
LOSSES = {
    "labelled": lambda s: labelled_from_similarity(
        s, CLASSES, balance=0.35, unsupervised_temperature=1.0, supervised_temperature=0.07
    ),
    "neighbours": lambda s: soft_neighbour_from_similarity(s, threshold=0.3, temperature=0.07),
}


@dataclass
class Step:
    loss: torch.Tensor
    gradients: dict[str, torch.Tensor]


def ours(kind, loss, dtype):
    """The step as it is done: tokens of the trunk, the tail, the head through its Gram matrix."""
    encoder = families.encoder_of(families.network(kind, dtype))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = Network(encoder, HEAD).to(dtype)
    value = LOSSES[loss](network(encoder.trunk(images(kind, dtype))))
    value.backward()
    return network, Step(value.detach(), gradients(network))


def plainly(kind, loss, network, dtype):
    """The step as it would be written down: timm's whole network, all projections, all their products."""
    model, head = families.network(kind, dtype), copy.deepcopy(network.head)
    head.zero_grad()
    b = normalize(head.mlp(families.timm_feature(model, images(kind, dtype))))
    z = normalize(b @ normalize(head.last.weight).T)
    value = LOSSES[loss](z @ z.T)
    value.backward()
    found = {f"tail.model.{name}": gradient for name, gradient in gradients(model).items()}
    return Step(value.detach(), found | {f"head.{name}": gradient for name, gradient in gradients(head).items()})


def images(kind, dtype):
    return families.images_for(kind, dtype, count=6)


def gradients(module):
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", families.ALL)
def test_loss_and_gradients_are_those_of_the_whole_network_with_all_projections(kind, loss):
    network, found = ours(kind, loss, torch.float64)
    expected = plainly(kind, loss, network, torch.float64)
    torch.testing.assert_close(found.loss, expected.loss, atol=1e-10, rtol=1e-10)
    assert any(name.startswith("tail.") for name in found.gradients)
    for name, gradient in found.gradients.items():
        wanted = expected.gradients[name]
        scale = max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(gradient, wanted, atol=1e-10 * scale, rtol=1e-8, msg=name)


def whole(step):
    """Loss and gradients as one vector."""
    return torch.cat([step.loss.flatten(), *(step.gradients[name].flatten() for name in sorted(step.gradients))])


@pytest.mark.parametrize("kind", families.ALL)
def test_in_single_precision_they_are_as_exact_as_written_down(kind):
    network, found = ours(kind, "labelled", torch.float32)
    plain = plainly(kind, "labelled", network, torch.float32)
    plain.gradients = {name: plain.gradients[name] for name in found.gradients}
    _, exact = ours(kind, "labelled", torch.float64)
    assert (whole(found) - whole(exact)).norm() <= 4 * (whole(plain) - whole(exact)).norm() + 1e-6 * whole(exact).norm()
