"""A module as a function of its parameters, through one and two orders of derivatives."""

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import grad, gradcheck
from torch.nn.functional import scaled_dot_product_attention
from torch.nn.utils.parametrizations import weight_norm

from metagcd.models.functional import Cut, beginning, call, curvature, gradients, math_attention, parameters_of, sgd
from metagcd.models.head import ProjectionHead
from metagcd.seeds import Seeds


def head() -> ProjectionHead:
    with Seeds(0).torch_scope("head"):
        return ProjectionHead(3, hidden=4, bottleneck=3, width=8, layers=2).double()


def features(rows: int = 6) -> Tensor:
    return torch.randn(rows, 3, dtype=torch.float64, generator=Seeds(0).torch("features"))


def loss_of(similarity: Tensor) -> Tensor:
    weights = torch.linspace(-1, 2, similarity.numel(), dtype=similarity.dtype).view_as(similarity)
    return (weights * similarity).exp().mean()


def test_only_what_is_trained_is_a_parameter() -> None:
    module = head()
    module.mlp[0].requires_grad_(requires_grad=False)
    assert set(parameters_of(module)) == {"mlp.2.weight", "mlp.2.bias", "last.weight"}


def test_a_call_with_its_own_parameters_is_the_module_itself() -> None:
    module, h = head(), features()
    assert torch.equal(call(module, parameters_of(module), h), module(h))
    assert torch.equal(call(module, {}, h, method="similarity"), module.similarity(h))


def test_a_call_uses_the_given_parameters_and_leaves_the_module_alone() -> None:
    module, h = head(), features()
    before = {name: parameter.clone() for name, parameter in module.named_parameters()}
    other = before["last.weight"].roll(1, dims=1)
    found = call(module, {"last.weight": other}, h, method="similarity")
    twin = head()
    with torch.no_grad():
        twin.last.weight.copy_(other)
    assert torch.equal(found, twin.similarity(h))
    assert not torch.allclose(found, module.similarity(h))
    assert all(torch.equal(parameter, before[name]) for name, parameter in module.named_parameters())


def test_a_parametrised_weight_is_made_from_the_given_parameters() -> None:
    module = weight_norm(nn.Linear(3, 2, bias=False)).double()
    parameters = parameters_of(module)
    assert set(parameters) == {"parametrizations.weight.original0", "parametrizations.weight.original1"}
    parameters["parametrizations.weight.original0"] = torch.full((2, 1), 5.0, dtype=torch.float64)
    weight = call(module, parameters, torch.eye(3, dtype=torch.float64)).T
    assert torch.allclose(weight.norm(dim=1), torch.full((2,), 5.0, dtype=torch.float64))


def test_a_call_passes_keywords_on() -> None:
    module, h = head(), features()
    gram = call(module, parameters_of(module), method="gram")
    assert torch.allclose(
        call(module, parameters_of(module), h, method="similarity", gram=2 * gram), module.similarity(h)
    )


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ProjectionHead has no parameter last\.weigth"):
        call(head(), {"last.weigth": torch.zeros(8, 3)}, features())


def test_a_step_is_the_parameters_less_rate_times_gradient() -> None:
    module = head()
    parameters = parameters_of(module)
    loss = loss_of(call(module, parameters, features(), method="similarity"))
    found = gradients(loss, parameters)
    stepped = sgd(parameters, found, 0.5)
    loss_of(module.similarity(features())).backward()
    for name, parameter in parameters.items():
        assert parameter.grad is not None
        assert torch.allclose(found[name], parameter.grad)
        assert torch.allclose(stepped[name], parameter - 0.5 * parameter.grad)


def test_a_step_at_rate_zero_changes_nothing() -> None:
    parameters = parameters_of(head())
    stepped = sgd(parameters, {name: torch.ones_like(p) for name, p in parameters.items()}, 0.0)
    assert all(torch.equal(stepped[name], parameters[name]) for name in parameters)


def test_what_the_loss_does_not_depend_on_has_gradient_zero() -> None:
    parameters = {"used": torch.ones(2, requires_grad=True), "unused": torch.ones(3, requires_grad=True)}
    found = gradients(parameters["used"].sum(), parameters)
    assert torch.equal(found["used"], torch.ones(2))
    assert torch.equal(found["unused"], torch.zeros(3))


def test_gradients_carry_a_graph_only_when_asked() -> None:
    parameters = {"x": torch.ones(2, requires_grad=True)}
    assert not gradients(parameters["x"].square().sum(), parameters)["x"].requires_grad
    assert gradients(parameters["x"].square().sum(), parameters, create_graph=True)["x"].requires_grad


def test_the_gradient_through_two_updates_agrees_with_finite_differences() -> None:
    module, h, unseen = head(), features(), features(8)[6:]
    names = tuple(parameters_of(module))
    with torch.no_grad():
        for name, parameter in module.named_parameters():  # steps of finite differences must be small beside them
            parameter.normal_(generator=Seeds(2).torch(name))

    def after_two_updates(*values: Tensor) -> Tensor:
        parameters = dict(zip(names, values, strict=True))
        for _ in range(2):
            inner = loss_of(call(module, parameters, h, method="similarity"))
            parameters = sgd(parameters, gradients(inner, parameters, create_graph=True), 0.3)
        return loss_of(call(module, parameters, unseen, method="similarity"))

    assert gradcheck(after_two_updates, tuple(parameters_of(module).values()))


def attention(x: Tensor) -> Tensor:
    return scaled_dot_product_attention(x, x, x).square().sum()


def test_math_attention_can_be_differentiated_twice() -> None:
    x = torch.randn(1, 2, 5, 4, dtype=torch.float64, generator=Seeds(0).torch("x"), requires_grad=True)
    with math_attention():
        (first,) = grad(attention(x), x, create_graph=True)
        (second,) = grad(first.square().sum(), x)

    def gradient_norm(x: Tensor) -> Tensor:
        with math_attention():
            return grad(attention(x), x, create_graph=True)[0].square().sum()

    assert second.isfinite().all()
    assert gradcheck(gradient_norm, (x,))


def test_math_attention_ends_with_its_scope() -> None:
    before = torch.backends.cuda.flash_sdp_enabled()
    with math_attention():
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled() == before


def test_modules_with_other_methods_and_nested_names_are_called_as_functions() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)).double()
    zero = {name: torch.zeros_like(p) for name, p in parameters_of(module).items()}
    assert torch.equal(call(module, zero, features()), torch.zeros(6, 1, dtype=torch.float64))


class Cubed(torch.autograd.Function):
    """A cube without a derivative in forward mode."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


def second_derivative_times(loss, parameters: dict[str, Tensor], direction: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return H v by differentiating the gradient."""
    found = gradients(loss(parameters), parameters, create_graph=True)
    return gradients(sum(((found[name] * direction[name]).sum() for name in found), torch.zeros(())), parameters)


def moved(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    generator = Seeds(3).torch("direction")
    return {name: torch.randn(p.shape, dtype=p.dtype, generator=generator) for name, p in parameters.items()}


@pytest.mark.parametrize("rows", [2, 6, 20])
def test_curvature_is_the_derivative_of_the_gradient_along_a_direction(rows: int) -> None:
    module, h = head(), features(rows)
    parameters = parameters_of(module)

    def loss(given) -> Tensor:
        return loss_of(call(module, given, h))

    found = curvature(loss, parameters, moved(parameters))
    for name, wanted in second_derivative_times(loss, parameters, moved(parameters)).items():
        torch.testing.assert_close(found[name], wanted, rtol=1e-9, atol=1e-12)
        assert not found[name].requires_grad
    assert all(parameter.grad is None for parameter in parameters.values())


def test_curvature_of_an_operation_without_forward_mode_is_that_of_its_gradient() -> None:
    parameters = {"x": torch.tensor([1.0, 2.0], dtype=torch.float64), "y": torch.ones(1, dtype=torch.float64)}
    direction = {"x": torch.tensor([1.0, 3.0], dtype=torch.float64), "y": torch.ones(1, dtype=torch.float64)}
    found = curvature(lambda given: Cubed.apply(given["x"]).sum() + given["y"].sum(), parameters, direction)
    assert found["x"].tolist() == [6.0, 36.0]
    assert found["y"].tolist() == [0.0]


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_curvature_of_what_is_linear_or_does_not_depend_on_parameters_is_zero(weight: float) -> None:
    def loss(given) -> Tensor:
        return given["x"].sum() if weight else torch.ones(())

    assert curvature(loss, {"x": torch.ones(2)}, {"x": torch.ones(2)})["x"].tolist() == [0.0, 0.0]


def test_a_cut_is_made_good_for_part_by_part() -> None:
    parameters = {"a": torch.tensor([0.5, -0.3], dtype=torch.float64), "b": torch.tensor(0.7, dtype=torch.float64)}
    x, cuts, computed = torch.arange(10, dtype=torch.float64).view(5, 2) / 10, list[Cut](), []

    def first_half(given, rows: Tensor) -> Tensor:
        computed.append(len(rows))
        return (rows @ given["a"]).sin() * given["b"]

    def second_half(given, values: Tensor) -> Tensor:
        return (values.outer(values) * given["b"]).exp().sum()

    def whole(given) -> Tensor:
        return second_half(given, first_half(given, x))

    def cut(given) -> Tensor:
        with torch.no_grad():
            values = first_half(given, x)
        start = beginning(values)
        cuts.append(Cut(start, 2, tuple(lambda part=part: first_half(given, part) for part in x.split(2))))
        return second_half(given, start)

    leaves = {name: tensor.requires_grad_() for name, tensor in parameters.items()}
    expected = second_derivative_times(whole, leaves, moved(parameters))
    computed.clear()
    found = curvature(cut, parameters, moved(parameters), cuts=cuts)
    assert computed == [5, 2, 2, 1]
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-10, atol=1e-12)
