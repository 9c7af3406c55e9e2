"""Scores from class ids and truth; nothing here trains."""

from metagcd.evaluate.accuracy import Accuracy, Assignment, clustering_accuracy

__all__ = ["Accuracy", "Assignment", "clustering_accuracy"]
