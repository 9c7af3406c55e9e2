"""Learners with a classifier, small ones, and what such a network may make of a batch."""

import contract
import torch
from torch.nn import functional

from metagcd.config import from_mapping
from metagcd.methods.learner import Setting
from metagcd.methods.parametric import ProjectionConfig, Seen, make_parametric
from metagcd.seeds import Seeds


def learner(name, **tables):
    """A learner with the short stages and small sizes of the contract, and these settings."""
    entry = contract.METHODS.get(name)
    config = from_mapping(contract.shrunk(entry.config()), tables)
    return entry.target(config, Setting(encoder=contract.encoder(), seeds=Seeds(0)))


def network(classes=3):
    made = make_parametric(
        ProjectionConfig(hidden=8, bottleneck=4), Setting(encoder=contract.encoder(), seeds=Seeds(0))
    )
    made.classifier.grow(torch.randn(classes, 16, generator=Seeds(0).torch("rows")))
    return made


def seen(images=4, classes=3):
    generator = Seeds(0).torch("seen")
    z = functional.normalize(torch.randn(2 * images, 5, dtype=torch.float64, generator=generator), dim=1)
    cosines = torch.rand(2 * images, classes, dtype=torch.float64, generator=generator) * 2 - 1
    return z, Seen(z, z @ z.T, cosines)
