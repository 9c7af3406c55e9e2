"""What this machine can do at best: operations of a large matrix product, bytes of a copy, memory of a piece of work.

python benchmarks/machine.py [--device cuda]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch


def timed(steps: Callable[[int], None], count: int) -> float:
    """Return seconds per step."""
    start = time.perf_counter()
    steps(count)
    return (time.perf_counter() - start) / count


def rates(device: str, dtype: torch.dtype | None = None) -> tuple[float, float]:
    """Return the operations per second of a large matrix product and the bytes per second of a copy.

    Products are in bfloat16 on a graphics processor and in float32 on others unless something else is said.
    """
    cuda = device == "cuda"
    side, kind = (8192, dtype or torch.bfloat16) if cuda else (2048, dtype or torch.float32)
    a, b, out = (torch.randn(side, side, device=device).to(kind) for _ in range(3))
    x = torch.zeros(2**26, device=device)
    y = torch.empty_like(x)

    def products(count: int) -> None:
        for _ in range(count):
            torch.mm(a, b, out=out)
        _wait(device)

    def copies(count: int) -> None:
        for _ in range(count):
            y.copy_(x)
        _wait(device)

    best = [min(timed(work, 3) for _ in range(4)) for work in (products, copies)]
    return 2 * side**3 / best[0], 2 * x.nbytes / best[1]


def peak_mebibytes(work: Callable[[], None], device: str) -> float:
    """Return the highest memory during the work less what was there before it."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _kibibytes("VmRSS")
    work()
    return (_kibibytes("VmHWM") - before) / 2**10


def _kibibytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    operations, copied = rates(parser.parse_args().device)
    print(f"{operations / 1e9:.0f} G operations/s, {copied / 1e9:.1f} GB/s, {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
