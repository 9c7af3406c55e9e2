"""Classes of unit features to be recognised and discovered."""

from functools import cache

import numpy as np

from metagcd.workspace.judging import fit_judge
from metagcd.workspace.table import table_of

DIM = 16


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def centres(seed=0, classes=12, dim=DIM):
    return unit(np.random.default_rng(seed).normal(size=(classes, dim)))


def images(places, each, *, seed, spread=0.1, dim=DIM):
    """So many images of the classes at these places, in random order, and their classes."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(places, each))
    return unit(centres(dim=dim)[truth] + spread * rng.normal(size=(len(truth), dim))), truth


def ids(classes):
    return tuple(f"class {place}" for place in range(classes))


@cache
def taught(classes=6, *, each=30, held=10, seed=0, spread=0.1):
    """A table of classes and the judge fitted beside it."""
    features, labels = images(range(classes), each, seed=seed, spread=spread)
    held_out = images(range(classes), held, seed=seed + 1, spread=spread)
    return table_of(features, labels, ids(classes)), fit_judge(features, labels, *held_out, seed=0)
