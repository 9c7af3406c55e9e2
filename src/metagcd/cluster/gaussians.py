"""Classes as normal distributions in a space where the scatter within classes is the same in every direction."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from metagcd.errors import InputError

FLOOR = 1e-6
"""Share of the total variance below which no direction within classes falls."""


@dataclass(frozen=True)
class Whitening:
    """The map into the space of the Gaussians."""

    centre: Float64[Tensor, " d"]
    axes: Float64[Tensor, "d p"]

    def __call__(self, x: Float[Tensor, "n d"]) -> Float64[Tensor, "n p"]:
        """Return the rows in that space."""
        return (x.double() - self.centre) @ self.axes


@dataclass(frozen=True)
class Gaussians:
    """One normal distribution per class."""

    means: Float64[Tensor, "c p"]
    factors: Float64[Tensor, "c p p"]
    """Lower triangular; each times its transpose is a covariance."""

    def log_density(self, x: Float64[Tensor, "n p"]) -> Float64[Tensor, "n c"]:
        """Return the logarithm of every density at every row; class by class, so that memory stays bounded."""
        columns = [_log_density(x, mean, factor) for mean, factor in zip(self.means, self.factors, strict=True)]
        return torch.stack(columns, dim=1) if columns else x.new_zeros(len(x), 0)

    def joined(self, others: "Gaussians") -> "Gaussians":
        """Return these and then the others."""
        return Gaussians(torch.cat([self.means, others.means]), torch.cat([self.factors, others.factors]))


def whitening(x: Float[Tensor, "n d"], labels: Int[Tensor, " n"], *, dimensions: int) -> Whitening:
    """Return the principal components of the rows, scaled so that the covariance within classes is the identity.

    That covariance is shrunk towards a multiple of the identity (Ledoit and Wolf, 2004), so that it can be inverted
    with fewer images than dimensions.
    """
    from sklearn.covariance import ledoit_wolf

    rows = x.double()
    centre = rows.mean(0)
    variance, vectors = torch.linalg.eigh((rows - centre).T @ (rows - centre) / len(rows))
    kept = vectors[:, -min(dimensions, rows.shape[1]) :]
    reduced = (rows - centre) @ kept
    _, places = labels.unique(return_inverse=True)
    means = torch.stack([reduced[places == place].mean(0) for place in range(int(places.max()) + 1)])
    within = torch.from_numpy(ledoit_wolf((reduced - means[places]).numpy(), assume_centered=True)[0])
    scatter, turn = torch.linalg.eigh(within)
    least = max(FLOOR * float(variance.clamp(min=0).sum()), torch.finfo(torch.float64).tiny)
    return Whitening(centre, kept @ turn / scatter.clamp(min=least).sqrt())


def gaussians(x: Float64[Tensor, "n p"], shares: Float64[Tensor, "n c"], *, strength: float) -> Gaussians:
    """Return the distribution of every class; `shares` says how far each row belongs to each class.

    A covariance is that of `strength` further images scattered as the identity, put together with that of its own.
    """
    if strength <= 0:
        raise InputError(f"`strength` must be above 0; got {strength}.")
    counts = shares.sum(0)
    means = shares.T @ x / counts.clamp(min=torch.finfo(x.dtype).tiny)[:, None]
    pairs = zip(means, counts, shares.T, strict=True)
    factors = [_factor(x - mean, share, float(count), strength) for mean, count, share in pairs]
    return Gaussians(means, torch.stack(factors) if factors else x.new_zeros(0, x.shape[1], x.shape[1]))


def mixture(
    x: Float64[Tensor, "n p"], known: Gaussians, start: Float64[Tensor, "new p"], *, rounds: int, strength: float
) -> Gaussians:
    """Return new classes found beside known ones, which stay as they are, by expectation and maximisation.

    The weights of all classes follow the rows, so that a known class that does not come takes nothing.
    """
    found = gaussians(start, torch.eye(len(start), dtype=x.dtype), strength=strength)
    classes = len(known.means) + len(start)
    weights = x.new_full((classes,), 1 / max(classes, 1))
    fixed = known.log_density(x)
    for _ in range(rounds if len(start) and len(x) else 0):
        level = torch.cat([fixed, found.log_density(x)], dim=1) + weights.log()
        shares = level.softmax(dim=1)
        # One image's weight is spread over all classes, so that none is lost for good.
        weights = (shares.sum(0) + 1 / classes) / (len(x) + 1)
        own = shares[:, len(known.means) :]
        moved = gaussians(x, own, strength=strength)
        held = own.sum(0) < FLOOR  # a class without images stays where it is
        found = Gaussians(
            torch.where(held[:, None], found.means, moved.means),
            torch.where(held[:, None, None], found.factors, moved.factors),
        )
    return found


def _factor(
    away: Float64[Tensor, "n p"], share: Float64[Tensor, " n"], count: float, strength: float
) -> Float64[Tensor, "p p"]:
    scatter = (away * share[:, None]).T @ away
    scatter.diagonal().add_(strength)
    return torch.linalg.cholesky(scatter / (strength + count))


def _log_density(
    x: Float64[Tensor, "n p"], mean: Float64[Tensor, " p"], factor: Float64[Tensor, "p p"]
) -> Float64[Tensor, " n"]:
    scaled = torch.linalg.solve_triangular(factor, (x - mean).T, upper=False)
    volume = factor.diagonal().log().sum() + x.shape[1] * math.log(2 * math.pi) / 2
    return -scaled.square().sum(0) / 2 - volume
