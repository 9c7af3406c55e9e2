"""What one process computes, and two that share its batches; run as a script, this is one of the two."""

import dataclasses
import os
import socket
import subprocess
import sys
from pathlib import Path

import torch
from engine import feeds

from metagcd.engine.checkpoint import State, load_state, save_state
from metagcd.engine.distributed import launched
from metagcd.engine.embedding import embed
from metagcd.engine.meta import Bilevel, InnerLoop, meta_gradient
from metagcd.engine.runtime import Runtime
from metagcd.engine.training import Optimisation, Stage, train
from metagcd.losses import labelled_from_similarity, supcon_from_similarity
from metagcd.methods.contrastive import HeadConfig
from metagcd.methods.learner import Setting
from metagcd.methods.soft_neighbourhood import NeighbourConfig, ScoredNetwork, neighbour_loss
from metagcd.models.functional import call, parameters_of
from metagcd.seeds import Seeds

NEIGHBOURS = NeighbourConfig(threshold=0.2, temperature=0.5, attention="learned", attention_width=3)
LOOPS = {
    "first": InnerLoop(updates=2, rate=0.5, order=1),
    "second": InnerLoop(updates=2, rate=0.5, order=2, recompute=False),
    "recomputed": InnerLoop(updates=2, rate=0.5, order=2, momentum=0.5),
}


def made(fabric):
    """A network in 64 bits, and a feed of eleven images; the same at each call."""
    feed = dataclasses.replace(feeds.feed(11), runtime=Runtime(fabric=fabric, threads=1, evaluation_batch=4))
    setting = Setting(encoder=feed.encoder, seeds=Seeds(1), runtime=feed.runtime)
    network = ScoredNetwork(NEIGHBOURS, HeadConfig(hidden=6, bottleneck=4, width=12), setting).double()
    source = torch.Generator().manual_seed(0)
    for parameter in network.parameters():  # as it begins, all cosines are near 1 and no gradient is worth comparing
        parameter.data.normal_(std=0.5, generator=source)
    return network, feed


def classes(batch):
    """Labels that follow from the places of images."""
    return torch.from_numpy(batch.rows % 2)


def meta_step(fabric, loop):
    """Outer loss and meta-gradient of two inner updates on five images each."""
    network, feed = made(fabric)
    *unlabelled, judged = feed.training(batch=5, first=0, last=3)

    def inner(parameters, batch):
        scored = call(network, parameters, batch.tokens, len(batch.rows), method="scored")
        return neighbour_loss(*scored, NEIGHBOURS)

    def outer(parameters):
        similarity = call(network, parameters, judged.tokens, len(judged.rows))
        return supcon_from_similarity(similarity, classes(judged), temperature=0.5)

    loss, gradient = meta_gradient(Bilevel(inner=inner, batches=unlabelled, outer=outer), parameters_of(network), loop)
    return torch.cat([loss[None], *(part.flatten() for part in gradient.values())])


def training(fabric):
    """The weights after three clipped updates of Eq. 3."""
    network, feed = made(fabric)

    def objective(batch):
        return labelled_from_similarity(
            network(batch.tokens, len(batch.rows)),
            classes(batch),
            balance=0.5,
            unsupervised_temperature=0.5,
            supervised_temperature=0.5,
        )

    how = Optimisation(batch=5, rate=0.1, clip=0.1)
    train(network, objective, feed=feed, stage=Stage(name="s", amount=3, unit="update", optimisation=how))
    return feeds.weights(network)


def results(fabric):
    """All that is compared."""
    _, feed = made(fabric)
    found = {name: meta_step(fabric, loop) for name, loop in LOOPS.items()}
    return {**found, "trained": training(fabric), "embedded": torch.from_numpy(embed(feed))}


def results_of_two(folder: Path):
    """What each of two processes found, that talk over this machine's own address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "TORCHELASTIC_RUN_ID": "two",
        "GLOO_SOCKET_IFNAME": loopback,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder / f"{rank}.safetensors")],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=100)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
    return [load_state(folder / f"{rank}.safetensors").tensors for rank in range(2)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    two = launched("cpu")
    save_state(Path(sys.argv[1]), State(results(two), {}))
    two.barrier()
