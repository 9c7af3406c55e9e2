"""The names that others rely on: they may gain arguments, they never lose one."""

import inspect
from importlib import import_module

import numpy as np
import pytest

import metagcd
from metagcd.data.rows import ArrayImages

KEYWORD, POSITIONAL = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
REQUIRED = inspect.Parameter.empty

SIGNATURES = {
    "losses.info_nce": (("z",), {"temperature": REQUIRED}),
    "losses.supcon": (("z", "labels"), {"temperature": REQUIRED}),
    "losses.labelled": (
        ("z", "labels"),
        {"balance": REQUIRED, "unsupervised_temperature": REQUIRED, "supervised_temperature": REQUIRED},
    ),
    "losses.soft_neighbour": (
        ("z",),
        {"threshold": REQUIRED, "temperature": REQUIRED, "weighting": "outside", "include_sibling": True},
    ),
    "cluster.kmeans": (("x", "k"), {"seed": REQUIRED, "restarts": 10}),
    "cluster.estimate_classes": (("x",), {"known_labels": None, "low": REQUIRED, "high": REQUIRED, "seed": REQUIRED}),
    "evaluate.clustering_accuracy": (("truth", "predicted", "old"), {"assignment": "global"}),
    "protocol.split": (("labels", "test_labels", "spec", "seed"), {}),
    "models.build_encoder": (("name",), {"weights": "auto", "image_size": None, "trainable_from": None}),
    "methods.available": ((), {}),
    "methods.build": (("name",), {}),
    "run": (("config",), {}),
    "load_preset": (("name",), {}),
}


def public(path):
    part, _, name = path.rpartition(".")
    return getattr(import_module(f"metagcd.{part}") if part else metagcd, name)


@pytest.mark.parametrize("path", SIGNATURES)
def test_a_public_function_takes_what_it_is_known_to_take(path):
    positional, keywords = SIGNATURES[path]
    parameters = inspect.signature(public(path)).parameters
    first = [name for name, parameter in parameters.items() if parameter.kind is POSITIONAL]
    assert tuple(first) == positional
    for name, default in keywords.items():
        assert parameters[name].kind is KEYWORD
        assert parameters[name].default == default
    added = [parameters[name] for name in parameters.keys() - {*positional, *keywords}]
    assert all(one.default is not REQUIRED or one.kind is inspect.Parameter.VAR_KEYWORD for one in added)


def test_every_name_of_the_package_is_there():
    assert all(getattr(metagcd, name) is not None for name in metagcd.__all__)
    with pytest.raises(AttributeError, match="`metagcd` has no attribute `nothing`"):
        _ = metagcd.nothing


def test_clusters_have_labels_centroids_and_inertia():
    x = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]], dtype=np.float32)
    found = metagcd.cluster.kmeans(x, 2, seed=0)
    assert found.labels[0] == found.labels[1] != found.labels[2] == found.labels[3]
    assert found.centroids.shape == (2, 2)
    assert float(found.inertia) == pytest.approx(1.0)


def test_an_estimate_has_a_number_and_its_bounds():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(10 * place, 0.1, (20, 3)) for place in range(4)]).astype(np.float32)
    found = metagcd.cluster.estimate_classes(x, low=2, high=8, seed=0)
    assert found.low <= found.k <= found.high


def test_scores_are_percentages_of_all_old_and_new():
    truth, predicted = np.array([0, 0, 1, 2]), np.array([1, 1, 0, 0])
    found = metagcd.evaluate.clustering_accuracy(truth, predicted, [0, 1])
    assert (found.all, found.old + found.new) == (75.0, pytest.approx(100.0, abs=34))
    assert metagcd.evaluate.clustering_accuracy(truth, truth, [0, 1]).new == 100.0


def test_a_split_has_its_sessions_and_a_digest():
    labels = np.repeat(np.arange(10), 130)
    found = metagcd.protocol.split(labels, labels, metagcd.protocol.ProtocolSpec(), 0)
    assert len(found.offline) == 7 * 104
    assert (found.sessions[1].known, found.sessions[1].novel) == (tuple(range(8)), (8,))
    assert len(found.sessions[1].train) == 81 + 54
    assert len(found.sessions[1].test) == 9 * 130
    assert found.digest


def test_an_encoder_is_a_trunk_and_a_tail_whose_projection_has_the_stated_similarities():
    import torch

    encoder = metagcd.models.build_encoder("tiny", weights="random", image_size=8)
    x = torch.randn(4, 3, 8, 8)
    h = encoder.embed(x)
    torch.testing.assert_close(encoder.tail(encoder.trunk(x)), h)
    assert h.shape == (4, encoder.dim)
    head = metagcd.models.ProjectionHead(encoder.dim, hidden=16, bottleneck=8, width=32)
    z = head.project(h)
    torch.testing.assert_close(head.similarity(h), z @ z.T, atol=1e-5, rtol=1e-5)


def test_a_preset_and_a_method_can_be_had_by_name():
    assert type(metagcd.load_preset("gcd-digits").protocol) is metagcd.protocol.ProtocolSpec
    learner = metagcd.methods.build("frozen", restarts=2)
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    assert learner.embed(ArrayImages(pixels)).shape == (5, 96)
    assert {"frozen", "gcd"} <= set(metagcd.methods.available())
