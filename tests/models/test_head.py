"""The head's two ways to the same similarities, their derivatives, and what of it is trained."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import grad, gradcheck, gradgradcheck
from torch.func import functional_call, jacrev

from metagcd.models import wide_layer
from metagcd.models.head import Projection, ProjectionHead
from metagcd.models.wide_layer import unit_gram, unit_products
from metagcd.seeds import Seeds

# torch's own, where forward mode is first used
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:FutureWarning")


def head(seed: int = 0, **sizes: int) -> ProjectionHead:
    with Seeds(seed).torch_scope("head"):
        return ProjectionHead(5, **{"hidden": 7, "bottleneck": 4, "width": 30, **sizes}).double()


def features(rows: int, seed: int = 1) -> Tensor:
    return torch.randn(rows, 5, dtype=torch.float64, generator=Seeds(seed).torch("features"))


def explicit(module: ProjectionHead, h: Tensor) -> Tensor:
    z = module.project(h)
    return z @ z.T


def by_rows(module: ProjectionHead, h: Tensor) -> Tensor:
    """Return cosines in loops from the parameters alone."""
    x = h
    for layer in module.mlp:
        x = layer(x)
    b = [row / row.norm() for row in x]
    v = module.last.weight
    z = [torch.stack([(w / w.norm()) @ row for w in v]) for row in b]
    return torch.stack([torch.stack([(p @ q) / (p.norm() * q.norm()) for q in z]) for p in z])


def trained(module: ProjectionHead) -> tuple[Tensor, ...]:
    return tuple(p for p in module.parameters() if p.requires_grad)


@pytest.mark.parametrize("rows", [1, 2, 12])
def test_similarity_is_the_product_of_the_projections(rows: int) -> None:
    module, h = head(), features(rows)
    wanted = by_rows(module, h)
    for found in (explicit(module, h), module.similarity(h), module.similarity(h, gram=module.gram())):
        assert torch.allclose(found, wanted, rtol=0, atol=1e-12)


def test_few_rows_are_multiplied_out_and_many_go_through_the_small_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    module = head()
    calls: list[str] = []
    original = ProjectionHead.gram
    monkeypatch.setattr(ProjectionHead, "gram", lambda self: calls.append("gram") or original(self))
    module.similarity(features(1))
    assert calls == []
    module.similarity(features(12))
    assert calls == ["gram"]


def loss_of(similarity: Tensor) -> Tensor:
    weights = torch.linspace(-1, 2, similarity.numel(), dtype=similarity.dtype).view_as(similarity)
    return (weights * similarity).exp().sum()


@pytest.mark.parametrize("rows", [2, 12])
def test_first_and_second_order_gradients_are_those_of_the_product(rows: int) -> None:
    module, h = head(), features(rows).requires_grad_()
    wanted = (h, *trained(module))

    def derivatives(similarity: Callable[[Tensor], Tensor]) -> tuple[Tensor, ...]:
        first = grad(loss_of(similarity(h)), wanted, create_graph=True)
        second = grad(sum((g.square().sum() for g in first), torch.zeros(())), wanted)
        return (*first, *second)

    for way in (module.similarity, lambda h: module.similarity(h, gram=module.gram())):
        for found, known in zip(derivatives(way), derivatives(partial(explicit, module)), strict=True):
            assert torch.allclose(found, known, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rows", [2, 8])
def test_the_derivatives_agree_with_finite_differences(rows: int) -> None:
    module, h = head(width=10, hidden=3), features(rows).requires_grad_()
    names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    with torch.no_grad():
        for parameter in trained(module):  # steps of finite differences are small beside these, not beside 0.02
            parameter.normal_(generator=Seeds(2).torch(str(tuple(parameter.shape))))

    def similarity(h: Tensor, *parameters: Tensor) -> Tensor:
        return functional_call(Similarity(module), {f"head.{n}": p for n, p in zip(names, parameters, strict=True)}, h)

    inputs = (h, *trained(module))
    assert gradcheck(similarity, inputs)
    assert gradcheck(similarity, inputs, check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(similarity, inputs)
    assert gradgradcheck(similarity, inputs, check_fwd_over_rev=True, fast_mode=True)


class Similarity(torch.nn.Module):
    def __init__(self, module: ProjectionHead) -> None:
        super().__init__()
        self.head = module

    def forward(self, h: Tensor) -> Tensor:
        return self.head.similarity(h)


def test_the_last_layer_learns_through_the_small_matrix() -> None:
    module = head()
    loss_of(module.similarity(features(12))).backward()
    assert module.last.weight.grad is not None
    assert module.last.weight.grad.abs().min() > 0


def test_rows_of_the_projection_and_of_the_last_layer_are_unit() -> None:
    module = head()
    one = torch.ones(30, dtype=torch.float64)
    assert torch.isclose(module.gram().trace(), one.sum())
    assert torch.allclose(module.project(features(6)).norm(dim=1), one[:6])
    assert torch.allclose(module.bottleneck(features(6)).norm(dim=1), one[:6])
    assert torch.equal(module(features(6)), module.project(features(6)))


def test_the_length_of_the_rows_of_the_last_layer_is_not_trained() -> None:
    module, h = head(), features(12)
    before = module.similarity(h)
    loss_of(before).backward()
    assert module.last.weight.grad is not None
    along = (module.last.weight * module.last.weight.grad).sum(dim=1)
    assert torch.allclose(along, torch.zeros_like(along), atol=1e-10)
    with torch.no_grad():
        module.last.weight.mul_(3)
    assert torch.allclose(module.similarity(h), before)


def test_the_default_sizes_are_those_of_dino() -> None:
    with torch.device("meta"):
        module = ProjectionHead(768)
    count = sum(parameter.numel() for parameter in trained(module))
    assert count == (768 + 1) * 2048 + (2048 + 1) * 2048 + (2048 + 1) * 256 + 256 * 65536


@pytest.mark.parametrize(
    ("layers", "sizes"), [(1, [(5, 4)]), (2, [(5, 7), (7, 4)]), (4, [(5, 7), (7, 7), (7, 7), (7, 4)])]
)
def test_layers_counts_the_linear_layers_of_the_mlp(layers: int, sizes: list[tuple[int, int]]) -> None:
    linear = [layer for layer in head(layers=layers).mlp if isinstance(layer, torch.nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == sizes
    assert len(head(layers=layers).mlp) == 2 * layers - 1


def test_no_layer_is_refused() -> None:
    with pytest.raises(ValueError, match="`layers` must be at least 1; got 0"):
        ProjectionHead(5, layers=0)


def test_initial_weights_are_small_truncated_normals_with_zero_biases() -> None:
    first = head(hidden=400).mlp[0]
    assert isinstance(first, torch.nn.Linear)
    assert first.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert torch.equal(first.bias, torch.zeros_like(first.bias))


def test_equal_seeds_give_equal_heads_and_leave_the_global_state_alone() -> None:
    before = torch.random.get_rng_state()
    first, second, other = head(3), head(3), head(4)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first.gram(), second.gram())
    assert not torch.equal(first.gram(), other.gram())


def test_a_copy_computes_the_same_and_is_independent() -> None:
    module, h = head(), features(12)
    twin = deepcopy(module)
    before = module.similarity(h)
    assert torch.equal(twin.similarity(h), before)
    with torch.no_grad():
        for parameter in trained(twin):
            parameter.mul_(2).add_(0.1)
    assert torch.equal(module.similarity(h), before)
    assert not torch.allclose(twin.similarity(h), before)


def test_a_state_dict_restores_the_head() -> None:
    first, second = head(0), head(1)
    second.load_state_dict(first.state_dict())
    assert torch.equal(second.similarity(features(12)), first.similarity(features(12)))


@pytest.mark.parametrize("rows", [2, 12])
def test_a_zero_bottleneck_gives_zero_similarity_and_finite_derivatives(rows: int) -> None:
    module, h = head(), torch.zeros(rows, 5, dtype=torch.float64, requires_grad=True)
    similarity = module.similarity(h)
    (first,) = grad(loss_of(similarity), h, create_graph=True)
    (second,) = grad(first.sum(), h)
    assert torch.equal(similarity, torch.zeros_like(similarity))
    assert first.isfinite().all()
    assert second.isfinite().all()


def test_float32_similarities_are_cosines_to_rounding() -> None:
    module, h = head(width=5000), features(64)
    exact = module.similarity(h)
    single = module.float().similarity(h.float())
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), exact, rtol=0, atol=2e-6)


@pytest.mark.parametrize("rows", [4, 6, 100])
def test_the_gram_matrix_is_the_product_of_unit_rows_however_it_is_cut(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    v = features(6).requires_grad_()

    def product(v: Tensor) -> Tensor:
        w = v / v.norm(dim=1, keepdim=True)
        return w.T @ w

    monkeypatch.setattr(wide_layer, "ROWS", rows)
    assert torch.allclose(unit_gram(v), product(v), rtol=1e-14)
    assert gradcheck(unit_gram, (v,), check_forward_ad=True)
    assert gradgradcheck(unit_gram, (v,), check_fwd_over_rev=True)
    by_function = jacrev(jacrev(lambda v: unit_gram(v).square().sum()))(v.detach())
    by_product = jacrev(jacrev(lambda v: product(v).square().sum()))(v.detach())
    assert torch.allclose(by_function, by_product)


@pytest.mark.parametrize("rows", [2, 5, 100])
def test_the_products_are_those_of_unit_rows_however_they_are_cut(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    v, b = features(6).requires_grad_(), features(3, seed=2).requires_grad_()
    w = v / v.norm(dim=1, keepdim=True)
    monkeypatch.setattr(wide_layer, "ROWS", rows)
    assert torch.allclose(unit_products(v, b), b @ w.T @ w @ b.T, rtol=1e-12)
    assert gradcheck(unit_products, (v, b), check_forward_ad=True)
    assert gradgradcheck(unit_products, (v, b), check_fwd_over_rev=True)


def test_under_mixed_precision_the_gram_matrix_keeps_its_own() -> None:
    module, h = head().float(), features(12).float()
    exact = module.gram()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module.gram(), exact)
        similarity = module.similarity(h)
    similarity.float().square().mean().backward()
    assert module.last.weight.grad is not None
    assert module.last.weight.grad.dtype == torch.float32
    assert module.last.weight.grad.isfinite().all()


def test_the_projection_is_the_bottleneck_of_a_head_with_its_weights() -> None:
    module, whole = Projection(5, hidden=7, bottleneck=4).double(), head()
    assert module.state_dict().keys() == {name for name in whole.state_dict() if name.startswith("mlp.")}
    module.load_state_dict({name: value for name, value in whole.state_dict().items() if name.startswith("mlp.")})
    assert torch.equal(module(features(3)), whole.bottleneck(features(3)))
    with pytest.raises(ValueError, match="`layers` must be at least 1; got 0"):
        Projection(5, layers=0)
