"""The banks of a run: opened, filled, mended, or done without; what is yielded is the same."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from metagcd.data.loader import Loading
from metagcd.models.bank import Bank, DamagedError, Rows
from metagcd.models.bank_budget import make_room, remove, touch
from metagcd.models.bank_config import BUDGET, BankConfig
from metagcd.models.bank_device import fits
from metagcd.models.bank_files import BankFiles, Layout
from metagcd.models.bank_fill import fill
from metagcd.models.bank_locks import LOCK, in_use, locked
from metagcd.models.bank_source import BankSource
from metagcd.models.compiling import Compile, compiled_for
from metagcd.models.encoder import Encoder
from metagcd.progress import Progress
from metagcd.types import Array

GB = 10**9
SPOKEN_BYTES = 10**8
"""Size of a bank whose filling takes so long that it is announced."""
MENDINGS = 3
"""Times that damage is mended within one pass; a disk that does worse is done without."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Banks:
    """Trunk outputs that are stored as soon as that costs less than computing them anew.

    What has been computed without a bank is counted, and a bank is filled once that and what is asked for reach the
    cost of filling: at no time was more than twice the least possible work done, whatever is asked for later.
    """

    config: BankConfig = field(default_factory=lambda: BankConfig(use="off"))
    root: Path = Path()
    budget: float = BUDGET
    """Disk that all banks together may take, in 10^9 bytes; the bank that was not used for longest makes room."""
    compile: Compile = "off"
    """Whether the trunk is compiled for the pass that fills a bank; `auto`: where that was measured to pay."""
    progress: Progress = field(default_factory=Progress)
    _spent: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _checked: dict[str, tuple[str, Array]] = field(default_factory=dict[str, tuple[str, Array]], repr=False)
    _digests: WeakKeyDictionary[nn.Module, tuple[object, str]] = field(default_factory=WeakKeyDictionary, repr=False)
    _resident: dict[str, Tensor] = field(default_factory=dict[str, Tensor], repr=False)
    _refused: set[str] = field(default_factory=set[str], repr=False)

    def serve(self, encoder: Encoder) -> bool:
        """Say whether views are drawn once and their outputs kept."""
        if self.config.use == "auto":
            return next(encoder.trunk.parameters(), None) is not None
        return self.config.use == "on"

    def digest(self, encoder: Encoder) -> str:
        """Return the encoder's digest; it is computed again only when a tensor of the trunk has changed."""
        tensors = encoder.trunk.state_dict().values()
        state = encoder.trunk.dtype, tuple((tensor.data_ptr(), tensor._version) for tensor in tensors)
        found = self._digests.get(encoder.trunk)
        if found is None or found[0] != state:
            found = self._digests[encoder.trunk] = (state, encoder.weights_digest)
        return found[1]

    def outputs(
        self, source: BankSource, order: Sequence[Rows], views: Sequence[int], *, planned: int
    ) -> Generator[Float[Tensor, "n ..."]]:
        """Yield the trunk outputs of each batch of images, all of a view, then the next, in float32.

        `planned` is the number of views that this and the calls that are sure to follow will ask for.
        """
        done = mendings = 0
        while done < len(order):
            with self._opened(source, planned) as bank:
                if bank is None or mendings == MENDINGS:
                    yield from self._computed(source, order[done:], views)
                    return
                places = [source.key.views.index(view) for view in views]
                try:
                    with closing(self._batches(bank, order[done:], places, source.loading)) as found:
                        for outputs in found:
                            yield outputs.float()
                            done += 1
                except DamagedError as damage:
                    mendings += 1
                    self.progress.say(f"{bank.files.folder}: {len(damage.blocks)} damaged blocks are filled again.")
                    bank.files.rewrite_journal(bank.layout, without=damage.blocks)

    def _batches(
        self, bank: Bank, order: Sequence[Rows], views: Sequence[int], loading: Loading
    ) -> Generator[Num[Tensor, "n ..."]]:
        """Read from the device's memory where random views fit it: they are shown again, plain ones hardly."""
        device, name = torch.device(loading.device), bank.files.folder.name
        if name not in self._resident:
            if bank.layout.views == 1 or not fits(bank.layout.bytes, device):
                return bank.batches(order, views, loading)
            self._resident.clear()
            self._resident[name] = bank.resident(device)
        return (bank.gathered(self._resident[name], rows, views) for rows in order)

    def _computed(
        self, source: BankSource, order: Sequence[Rows], views: Sequence[int]
    ) -> Generator[Float[Tensor, "n ..."]]:
        name = source.key.digest
        with closing(source.outputs(order, views)) as found:
            for outputs in found:
                self._spent[name] = self._spent.get(name, 0) + len(outputs)
                yield outputs.float()

    @contextmanager
    def _opened(self, source: BankSource, planned: int) -> Generator[Bank | None]:
        """Open the bank, filled if need be; None where it is not worth its filling or cannot be kept."""
        with ExitStack() as stack:
            bank = None
            if source.key.digest in self._refused:
                yield bank
                return
            try:
                layout = self._found(source, stack, planned)
                bank = self._complete(source, layout) if layout is not None else None
            except OSError as error:
                self._tell(source, f"The bank {self.root} cannot be used for outputs: {error.strerror or error}")
            yield bank

    def _found(self, source: BankSource, stack: ExitStack, planned: int) -> Layout | None:
        """Hold the bank's folder, made if need be, for as long as the stack lasts."""
        files = BankFiles(self.root / source.key.digest)
        cost = len(source.images) * len(source.key.views)
        with locked(self.root / LOCK):
            layout = files.layout(source.key)
            if layout is not None:
                stack.enter_context(in_use(files.folder))
                touch(files.folder)
                return layout
            if self.config.use == "auto" and self._spent.get(source.key.digest, 0) + planned < cost:
                return None
            if files.folder.exists():
                self.progress.say(f"{files.folder} is damaged and is filled again.")
                remove(files.folder)
            layout = source.layout()
            if not make_room(self.root, layout.bytes, int(self.budget * GB)):
                self._tell(source, self._too_large(layout))
                return None
            stack.enter_context(in_use(files.folder))
            files.create(source.key, layout)
            return layout

    def _complete(self, source: BankSource, layout: Layout) -> Bank:
        """Fill what is missing, beside other processes that do, and open the rows."""
        files = BankFiles(self.root / source.key.digest)
        if not files.is_complete():
            if layout.bytes >= SPOKEN_BYTES:
                self.progress.say(f"Storing {_amount(layout)} in {files.folder}.")
            with compiled_for(source, self.compile, self.progress):
                fill(source, files, layout, self.progress)
        seal, name = files.seal(), source.key.digest
        if self._checked.get(name, ("",))[0] != seal:
            self._checked[name] = seal, np.zeros(layout.blocks, dtype=np.bool_)
        return Bank(
            files=files,
            layout=layout,
            dtype=source.dtype,
            checked=self._checked[name][1],
            mapped=files.mapped(layout),
            checksums=files.finished(layout),
        )

    def _too_large(self, layout: Layout) -> str:
        limit = f"{self.budget:g} GB for all banks (`--bank-budget`)"
        return f"{_amount(layout)} do not fit {limit} or the disk of {self.root}"

    def _tell(self, source: BankSource, words: str) -> None:
        """Say why there is no bank; it is not tried again."""
        self._refused.add(source.key.digest)
        self.progress.say(f"{words}; they are computed anew each time.")


def _amount(layout: Layout) -> str:
    size = f"{layout.bytes / GB:.1f} GB" if layout.bytes >= GB / 10 else f"{layout.bytes / 10**6:.1f} MB"
    views = "plain views" if layout.views == 1 else f"{layout.views} views"
    return f"trunk outputs of {layout.images} images, {views} ({size}),"
