"""Whether work grows with its input and not with its square, told by processor time."""

import time
from collections.abc import Callable

FACTOR = 4
BOUND = 8.0
"""Between what four times the input costs linear work (4) and quadratic work (16)."""


def grows_linearly(work: Callable[[str], object], unit: str, *, size: int) -> bool:
    """Whether `size` and four times `size` characters of a repeated unit cost about four times as much.

    Other load can only make one measurement look bad; quadratic work looks bad every time.
    """
    small = unit * (size // len(unit) + 1)
    return any(_ratio(work, small) <= BOUND for _ in range(4))


def _ratio(work: Callable[[str], object], small: str) -> float:
    return _cpu_seconds(work, small * FACTOR) / max(_cpu_seconds(work, small), 1e-4)


def _cpu_seconds(work: Callable[[str], object], text: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work(text)
        best = min(best, time.process_time() - started)
    return best
