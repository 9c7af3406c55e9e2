import numpy as np
import torch
from engine import feeds

from metagcd.data.views import evaluation_view
from metagcd.engine.embedding import embed


def test_features_are_those_of_the_encoder_on_plain_views_at_length_one():
    feed = feeds.feed(11, evaluation_batch=4)
    found = embed(feed)
    with torch.no_grad():
        views = evaluation_view(feed.images.read(np.arange(11)), feed.encoder.spec)
        expected = feed.encoder.eval().embed(views).double()
    expected /= expected.norm(dim=1, keepdim=True)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_no_images_have_no_features():
    assert embed(feeds.feed(0)).shape == (0, 8)


def test_embedding_trains_nothing():
    feed = feeds.feed(4)
    before = feeds.weights(feed.encoder)
    embed(feed)
    assert torch.equal(feeds.weights(feed.encoder), before)
    assert not feed.encoder.tail.training
