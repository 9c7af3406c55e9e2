"""The obvious alternative to a workspace: k-means on every batch, and its centroids matched to earlier ones.

Used by `workspace.py`. A batch is clustered with k-means, into as many clusters as give the largest silhouette. The
Hungarian method matches centroids to those met so far by distance; a match farther than the limit is a new class.
An image's novelty is its distance to the nearest centroid met before, its confidence the softmax over its squared
distances, at a temperature chosen on images held out of session 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from metagcd.cluster import kmeans
from metagcd.cluster.number import peak, silhouette


@dataclass
class Matching:
    """Centroids met so far, with their ids."""

    centroids: np.ndarray
    ids: list[str]
    limit: float
    """Distance up to which a centroid is one met before: most images of session 0 are nearer to theirs."""
    temperature: float
    """Of the softmax, the likeliest on images held out of session 0."""

    @staticmethod
    def fit(features: np.ndarray, labels: np.ndarray, held_out: np.ndarray, truth: np.ndarray) -> "Matching":
        """Take the means of the labelled classes; the temperature is the one that suits held-out images best."""
        classes = np.unique(labels)
        centroids = np.stack([features[labels == place].mean(0) for place in classes])
        distance = np.linalg.norm(features - centroids[labels], axis=1)
        squares = cdist(held_out, centroids) ** 2
        own = squares[np.arange(len(truth)), truth]
        tried = np.geomspace(1e-3, 10, 40) * float((distance**2).mean())
        loss = [float((own / (2 * t) + logsumexp(-squares / (2 * t), axis=1)).mean()) for t in tried]
        ids = [f"known-{place}" for place in classes]
        return Matching(centroids, ids, float(np.quantile(distance, 0.95)), float(tried[int(np.argmin(loss))]))

    def discover(self, x: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return class ids, confidence and novelty of a batch, and how many classes were new."""
        distances = cdist(x, self.centroids)
        novelty = distances.min(1)
        most = min(len(self.ids) + 20, len(x) - 1)

        def score(k: int) -> float:
            return silhouette(x, np.asarray(kmeans(x, k, seed=seed, restarts=3).labels), seed=seed)

        found = kmeans(x, peak(score, 2, most).k, seed=seed, restarts=10)
        centroids = np.asarray(found.centroids)
        apart = cdist(centroids, self.centroids)
        names: dict[int, str] = {}
        for own, other in zip(*linear_sum_assignment(apart), strict=True):
            if apart[own, other] <= self.limit:
                names[int(own)] = self.ids[other]
                self.centroids[other] = centroids[own]
        fresh = [place for place in range(len(centroids)) if place not in names]
        for place in fresh:
            names[place] = f"novel-{len(self.ids) + 1:04d}"
            self.ids.append(names[place])
        self.centroids = np.concatenate([self.centroids, centroids[fresh]])
        level = -(cdist(x, centroids) ** 2) / (2 * self.temperature)
        odds = np.exp(level - level.max(1, keepdims=True))
        labels = np.asarray(found.labels)
        confidence = odds[np.arange(len(x)), labels] / odds.sum(1)
        return np.array([names[int(place)] for place in labels]), confidence, novelty, len(fresh)
