"""Products with a wide layer W of unit rows, part by part, so that a part stays in the processor's cache.

Derivatives are written out. Besides those of any order there are those along a direction (forward mode), of the product
and of its gradient: a second derivative times a vector then costs two to three gradients and keeps no graph.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.forward_ad import make_dual, unpack_dual

EPSILON = 1e-24
"""Floor of a squared norm: a zero row stays zero, with finite first and second derivatives."""

ROWS = 512
"""Rows of the wide layer that are worked on at a time: half a megabyte, which stays in a cache."""


def unit(x: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Return the rows brought to norm 1."""
    return x * inverse_norm(x)


def inverse_norm(x: Float[Tensor, "n k"]) -> Float[Tensor, "n 1"]:
    """Return one over the norm of each row."""
    return x.square().sum(dim=1, keepdim=True).clamp_min(EPSILON).rsqrt()


def unit_gram(v: Float[Tensor, "n k"]) -> Float[Tensor, "k k"]:
    """Return W'W for W = v with its rows brought to norm 1, never holding more than `ROWS` rows of W."""
    return _UnitGram.apply(v)  # type: ignore[no-any-return]


def unit_products(v: Float[Tensor, "m k"], b: Float[Tensor, "n k"]) -> Float[Tensor, "n n"]:
    """Return (W b')'(W b') for W = v with its rows brought to norm 1, for few b; W b' is held in parts alone."""
    return _UnitProducts.apply(v, b)  # type: ignore[no-any-return]


class _UnitGram(torch.autograd.Function):
    """Half the products that the derivative of W'W would take, and of v alone."""

    generate_vmap_rule = True

    @staticmethod
    def forward(v: Tensor) -> Tensor:
        total = v.new_zeros(v.shape[1], v.shape[1])
        with torch.autocast(v.device.type, enabled=False):  # a sum of many rows, in full precision
            for rows in v.split(ROWS):
                w = unit(rows)
                total = torch.addmm(total, w.T, w)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, *along: Tensor) -> Tensor:
        (v,), (dot,) = ctx.saved_tensors, along
        half = v.new_zeros(v.shape[1], v.shape[1])
        with torch.no_grad(), torch.autocast(v.device.type, enabled=False):  # of this, no other derivative is taken
            for rows, moved in zip(v.split(ROWS), dot.split(ROWS), strict=True):
                part = _Rows(rows, moved)
                half = torch.addmm(half, part.w.T, part.w_dot)
        return half + half.T

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (v,), (gradient,) = ctx.saved_tensors, gradients
        if torch.is_grad_enabled():  # a later derivative needs the parts
            both = gradient + gradient.T
            return torch.cat([_through_unit(rows, both) for rows in v.split(ROWS)])
        (v, v_dot), (both, both_dot) = _parted(v), _both(gradient)
        whole = torch.empty_like(v)
        if v_dot is None:
            for rows, place in zip(v.split(ROWS), whole.split(ROWS), strict=True):
                place.copy_(_through_unit(rows, both))
            return whole
        whole_dot = torch.empty_like(v)
        places = zip(v.split(ROWS), v_dot.split(ROWS), whole.split(ROWS), whole_dot.split(ROWS), strict=True)
        for rows, moved, place, place_dot in places:
            part = _Rows(rows, moved)
            part.place(part.w @ both, part.w_dot @ both + part.w @ both_dot, place, place_dot)
        return make_dual(whole, whole_dot)


class _UnitProducts(torch.autograd.Function):
    """Part by part; in forward mode the parts of W b' are kept for the way back, as there are few b."""

    generate_vmap_rule = True

    @staticmethod
    def forward(v: Tensor, b: Tensor) -> Tensor:
        total = v.new_zeros(len(b), len(b))
        with torch.autocast(v.device.type, enabled=False):  # a sum of many rows, in full precision
            for rows in v.split(ROWS):
                z = b.to(v.dtype) @ unit(rows).T
                total = torch.addmm(total, z, z.T)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, *along: Tensor) -> Tensor:
        (v, b), (v_dot, b_dot) = ctx.saved_tensors, along
        ctx.kept = []
        with torch.no_grad(), torch.autocast(v.device.type, enabled=False):  # of this, no other derivative is taken
            stacked = torch.cat([b, b_dot]).to(v.dtype)
            b, half = stacked[: len(b)], v.new_zeros(len(b), len(b))
            for rows, moved in zip(v.split(ROWS), v_dot.split(ROWS), strict=True):
                part = _Rows(rows, moved)
                z = stacked @ part.w.T
                z[len(b) :].addmm_(b, part.w_dot.T)
                half = torch.addmm(half, z[len(b) :], z[: len(b)].T)
                ctx.kept.append(z)
        return half + half.T

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (v, b), (gradient,) = ctx.saved_tensors, gradients
        if torch.is_grad_enabled():  # a later derivative needs the parts
            both = gradient + gradient.T
            parts = [_through_products(rows, b, both) for rows in v.split(ROWS)]
            return torch.cat([dv for dv, _ in parts]), torch.stack([db for _, db in parts]).sum(dim=0)
        (v, v_dot), (b, b_dot), (both, both_dot) = _parted(v), _parted(b), _both(gradient)
        whole, db = torch.empty_like(v), torch.zeros_like(b)
        if v_dot is None:
            for rows, place in zip(v.split(ROWS), whole.split(ROWS), strict=True):
                dv, part = _through_products(rows, b, both)
                place.copy_(dv)
                db += part
            return whole, db
        whole_dot, db_dot, n = torch.empty_like(v), torch.zeros_like(b), len(b)
        stacked = torch.cat([torch.zeros_like(b) if b_dot is None else b_dot, b])
        cotangents = torch.cat([torch.cat([both, torch.zeros_like(both)], 1), torch.cat([both_dot, both], 1)])
        places = zip(v.split(ROWS), v_dot.split(ROWS), ctx.kept, whole.split(ROWS), whole_dot.split(ROWS), strict=True)
        for rows, moved, z, place, place_dot in places:
            part = _Rows(rows, moved)
            dz = cotangents @ z  # of z, and of what is added to z along the direction
            through = dz @ part.w
            db += through[:n]
            db_dot += torch.addmm(through[n:], dz[:n], part.w_dot)
            part.place(dz[:n].T @ b, dz.T @ stacked, place, place_dot)
        ctx.kept = []
        return make_dual(whole, whole_dot), make_dual(db, db_dot)


class _Rows:
    """Some rows v of the wide layer along a direction: w = v / |v| and its derivative."""

    def __init__(self, v: Tensor, dot: Tensor) -> None:
        self.scale = inverse_norm(v)
        self.w = v * self.scale
        self.length = (self.w * dot).sum(dim=1, keepdim=True)
        self.w_dot = (dot - self.w * self.length) * self.scale

    def place(self, dw: Tensor, dw_dot: Tensor, whole: Tensor, whole_dot: Tensor) -> None:
        """Put the gradient of v for one of w into its place, and its derivative into another."""
        along = (self.w * dw).sum(dim=1, keepdim=True)
        across = dw - self.w * along
        torch.mul(across, self.scale, out=whole)
        turned = (self.w_dot * dw).sum(dim=1, keepdim=True) + (self.w * dw_dot).sum(dim=1, keepdim=True)
        moved = dw_dot - self.w_dot * along - self.w * turned - across * (self.length * self.scale)
        torch.mul(moved, self.scale, out=whole_dot)


def _parted(tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return a tensor and its derivative along the direction, if there is one."""
    found = unpack_dual(tensor)
    return found.primal, found.tangent


def _both(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradient of a symmetric matrix added to its transpose, and the derivative of that."""
    found, dot = _parted(gradient)
    dot = torch.zeros_like(found) if dot is None else dot
    return found + found.T, dot + dot.T


def _through_products(v: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of z z' for z = b W' with respect to v and b."""
    scale = inverse_norm(v)
    w = v * scale
    dz = both @ (b @ w.T)
    return _across(w, dz.T @ b, scale), dz @ w


def _through_unit(v: Tensor, both: Tensor) -> Tensor:
    """Return the gradient of W'W with respect to v."""
    scale = inverse_norm(v)
    w = v * scale
    return _across(w, w @ both, scale)


def _across(w: Tensor, dw: Tensor, scale: Tensor) -> Tensor:
    """Return a gradient less what would only lengthen rows, over their norm."""
    return (dw - w * (w * dw).sum(dim=1, keepdim=True)) * scale
