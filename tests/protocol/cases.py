"""Labels shaped like real data sets, and random protocols that their labels can satisfy."""

import numpy as np
from hypothesis import strategies as st

# Training images per class of the digits with a quarter of each class set aside.
DIGITS = (134, 136, 133, 137, 136, 136, 136, 134, 130, 135)


def repeated(counts, seed=0):
    """Class ids, each as often as its count says, in no order."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))


def shaped_like(name):
    """Return training and test labels of the data set that a named protocol is for."""
    if "digits" in name:
        return repeated(DIGITS), repeated([45] * 10)
    if "cub" in name:
        return repeated([30] * 194 + [29] * 6), repeated([29] * 200)
    if "tiny-imagenet" in name:
        return repeated([500] * 200), repeated([50] * 200)
    if "cifar100" in name:
        return repeated([500] * 100), repeated([100] * 100)
    return repeated([5000] * 10), repeated([1000] * 10)


@st.composite
def spec_values(draw):
    """Draw the fields of a protocol that classes of 60 or more images, eleven of them, can satisfy."""
    known = draw(st.integers(1, 5))
    novel = tuple(draw(st.lists(st.integers(0, 2), min_size=1, max_size=3)))
    sessions = len(novel)
    unit = draw(st.sampled_from(["session", "class"]))
    per_class = st.integers(1, 4)
    # As totals: enough for every class of a session, and no more than four images of any.
    lowest = (max(novel), known) if unit == "session" else (1, 1)
    counts = st.lists(per_class, min_size=sessions, max_size=sessions)
    novel_images = tuple(lowest[0] + count for count in draw(counts))
    known_images = tuple(lowest[1] * count for count in draw(counts))
    discovered = draw(st.one_of(st.just(()), counts.map(tuple)))
    return {
        "known": known,
        "novel": novel,
        "labelled_fraction": draw(st.sampled_from([0.2, 0.5, 0.7])),
        "unit": unit,
        "novel_images": novel_images,
        "known_images": known_images,
        "discovered_images": discovered,
        "redraw": draw(st.booleans()),
        "class_order": draw(st.sampled_from(["natural", "seeded", tuple(range(10, -1, -1))])),
    }


@st.composite
def labelled_sets(draw):
    """Draw training and test labels of eleven classes of uneven size."""
    sizes = draw(st.lists(st.integers(60, 80), min_size=11, max_size=11))
    return repeated(sizes, draw(st.integers(0, 3))), repeated(
        draw(st.lists(st.integers(1, 5), min_size=11, max_size=11))
    )
