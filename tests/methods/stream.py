"""A small stream of digits, yet long enough to learn something: four known classes, and a session with a fifth."""

import contract
import numpy as np

from metagcd.data.rows import select
from metagcd.types import LabelledSet, UnlabelledSet

KNOWN = 4
SHORT = {
    "offline_epochs": 30,
    "unsupervised_temperature": 0.2,
    "head": {"hidden": 64, "bottleneck": 16, "width": 64},
    "offline": {"optimiser": "adamw", "rate": 3e-3, "batch": 32, "warmup": 5},
    "online_updates": 40,
    "online": {"optimiser": "adamw", "rate": 3e-3, "batch": 32},
}
"""Settings with which a learner knows some of the digits after two seconds."""


def labelled():
    """Twenty-five digits of each known class."""
    images, labels = _taken(range(KNOWN), skip=0, take=25)
    return LabelledSet(images=images, labels=labels)


def session(classes=range(KNOWN + 1)):
    """Twenty digits of each of these classes, and their labels, which are for the test alone."""
    images, labels = _taken(classes, skip=40, take=20)
    return UnlabelledSet(images=images), labels


def known_accuracy(learner):
    """The share of the test digits of known classes that are given their own ids."""
    data = contract._data()
    rows = np.flatnonzero(np.isin(data.test_labels, range(KNOWN)))
    return (learner.predict(select(data.test, rows)) == data.test_labels[rows]).mean()


def _taken(classes, *, skip, take):
    data = contract._data()
    rows = contract._of_classes(data.train_labels, classes, skip=skip, take=take)
    return select(data.train, rows), data.train_labels[rows]
