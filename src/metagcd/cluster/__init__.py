"""Clusters of features: k-means, assignment to classes, class means, and how many classes there are."""

from metagcd.cluster.assignment import match
from metagcd.cluster.calibrated import NumberOfClasses, Price, count_novel, price_of
from metagcd.cluster.kmeans import kmeans
from metagcd.cluster.novelty import novelty, upper_group
from metagcd.cluster.number import estimate_classes
from metagcd.cluster.pinned import semi_supervised_kmeans
from metagcd.cluster.points import KMeans
from metagcd.cluster.prototypes import drifted, nearest, prototypes
from metagcd.cluster.stream import streamed_kmeans

__all__ = [
    "KMeans",
    "NumberOfClasses",
    "Price",
    "count_novel",
    "drifted",
    "estimate_classes",
    "kmeans",
    "match",
    "nearest",
    "novelty",
    "price_of",
    "prototypes",
    "semi_supervised_kmeans",
    "streamed_kmeans",
    "upper_group",
]
