"""Scores from class ids and truth; nothing here trains."""

from metagcd.evaluate.accuracy import Accuracy, Assignment, clustering_accuracy
from metagcd.evaluate.agreement import adjusted_rand_index, normalised_mutual_information
from metagcd.evaluate.bootstrap import Interval, bootstrap
from metagcd.evaluate.novelty import Detection, detection
from metagcd.evaluate.paired import Comparison, compare
from metagcd.evaluate.per_class import accuracy_per_class, confusion
from metagcd.evaluate.readout import Partition, Reading, kmeans_readout, readings
from metagcd.evaluate.sessions import discovery, forgetting, session_average

__all__ = [
    "Accuracy",
    "Assignment",
    "Comparison",
    "Detection",
    "Interval",
    "Partition",
    "Reading",
    "accuracy_per_class",
    "adjusted_rand_index",
    "bootstrap",
    "clustering_accuracy",
    "compare",
    "confusion",
    "detection",
    "discovery",
    "forgetting",
    "kmeans_readout",
    "normalised_mutual_information",
    "readings",
    "session_average",
]
