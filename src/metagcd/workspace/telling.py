"""What a session tells of itself: how many of its images are novel, and how novel its novel images look."""

import numpy as np
from jaxtyping import Bool, Float

from metagcd.types import Array
from metagcd.workspace.judge import Judge
from metagcd.workspace.nearness import Nearness

ROUNDS = 60
"""Rounds of expectation and maximisation."""
RARE = 0.01
"""Least share of novel images, and of known ones, that a session is taken to have."""
STRENGTH = 10.0
"""Images that the hidden classes of session 0 count for beside the session's own novel ones."""
FEWEST = 20
"""Fewest images that tell how novel images look."""
HIGHER = 0.5
"""Standard deviations by which the novel images' mean logit lies above that of the known ones at least."""
TINY = 1e-12


def told_novelty(judge: Judge, near: Nearness, taught: Bool[Array, " n"]) -> Float[Array, " n"]:
    """Return the probability of being of no class, as the session itself tells it.

    Classes that an encoder was taught are tighter and farther from the others than new ones are, so that hidden ones
    look more novel than new ones will. Where images are nearest to classes `taught` with labels, the distribution of
    known images is sure, and that of the novel ones is learned from the session.
    """
    novelty = judge.novelty(near, prior=told_prior(judge, near))
    if int(taught.sum()) >= FEWEST:
        novelty[taught] = learned_novelty(judge, judge.level(near)[taught])
    return novelty


def told_prior(judge: Judge, near: Nearness) -> float:
    """Return the share of novel images at which their probabilities add up to it (Saerens et al., 2002)."""
    prior = judge.prior
    for _ in range(ROUNDS):
        prior = float(np.clip(judge.novelty(near, prior=prior).mean(), RARE, 1 - RARE))
    return prior


def learned_novelty(judge: Judge, level: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the probability of being novel, in a mixture of known images, as they are known, and a normal curve."""
    known = np.array(judge.known_levels)
    lowest = known.mean() + HIGHER * known.std()
    density = smooth_density(known, level)
    prior, mean, spread = judge.prior, judge.novel_level, judge.novel_spread
    novelty = np.zeros(len(level))
    for _ in range(ROUNDS):
        curve = prior * (np.exp(-0.5 * ((level - mean) / spread) ** 2) / spread / np.sqrt(2 * np.pi) + TINY)
        novelty = curve / (curve + (1 - prior) * density)
        weight = novelty.sum()
        prior = float(np.clip(novelty.mean(), RARE, 1 - RARE))
        mean = max(lowest, ((novelty * level).sum() + STRENGTH * judge.novel_level) / (weight + STRENGTH))
        square = (novelty * (level - mean) ** 2).sum() + STRENGTH * judge.novel_spread**2
        spread = float(np.sqrt(square / (weight + STRENGTH)))
    # What lies farther out is no less novel, whatever the tails of the two curves say.
    order = np.argsort(level, kind="stable")
    novelty[order] = np.maximum.accumulate(novelty[order])
    return novelty


def smooth_density(points: Float[Array, " q"], level: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the density of the points by normal kernels (Silverman, 1986)."""
    width = 1.06 * points.std() * len(points) ** -0.2 + 1e-3
    apart = (level[:, None] - points) / width
    return np.exp(-0.5 * apart**2).mean(1) / width / np.sqrt(2 * np.pi) + TINY
