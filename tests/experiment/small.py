"""Small runs on the digits, and ways to interrupt them."""

from dataclasses import dataclass, replace

import contract

from metagcd.data import load
from metagcd.data.sources.digits import DigitsConfig
from metagcd.experiment.config import ReadoutConfig, RunConfig
from metagcd.experiment.run import Hardware
from metagcd.methods.frozen import FrozenConfig
from metagcd.methods.gcd import GcdConfig
from metagcd.methods.metagcd import MetaGcdConfig
from metagcd.models.bank_config import BankConfig
from metagcd.progress import Progress
from metagcd.protocol import ProtocolSpec
from metagcd.results import to_json

SOURCE = DigitsConfig(test_fraction=0.1)
SPEC = ProtocolSpec(known=3, novel=(1, 1), labelled_fraction=0.2, novel_images=(20,), known_images=(20,))
HARDWARE = Hardware(device="cpu", threads=1, save_every=0.0)


def config(method="frozen", **values):
    own = {
        "frozen": FrozenConfig(restarts=1),
        "gcd": contract.shrunk(GcdConfig()),
        "metagcd": contract.shrunk(MetaGcdConfig()),
    }
    bank = BankConfig(use="off")  # so that every look at an image is a read, where a test may interrupt
    shared = {
        "bank": bank,
        "source": SOURCE,
        "protocol": SPEC,
        "encoder": contract.ENCODER,
        "readout": ReadoutConfig(restarts=2),
    }
    return RunConfig(**{"seeds": (0,), "method": own[method], **shared, **values})


def watched(interrupt_at=None, test_at=None):
    """The digits, with a read of the training or test images at which the process is interrupted."""
    data = load(SOURCE)
    train = contract.Watched(data.train, interrupt_at=interrupt_at)
    return replace(data, train=train, test=contract.Watched(data.test, interrupt_at=test_at))


def timeless(results):
    """The rows as text, without the seconds and the name of the directory."""
    return to_json(replace(row, seconds=0.0, run="") for row in results.rows)


@dataclass(frozen=True)
class Impatient(Progress):
    """Interrupts the process as soon as it hears a word."""

    word: str = ""

    def say(self, text):
        if self.word in text:
            raise KeyboardInterrupt
