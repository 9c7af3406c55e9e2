"""Clusters of features: k-means, assignment to classes."""

from metagcd.cluster.assignment import match
from metagcd.cluster.kmeans import kmeans
from metagcd.cluster.points import KMeans

__all__ = ["KMeans", "kmeans", "match"]
