"""How much is measured: what the figures are named for, or, with `BENCH=small`, just enough to see that it runs."""

import os

SMALL = os.environ.get("BENCH") == "small"  # noqa: TID251 — the bench's own switch, not product configuration


def size(full: int, small: int = 1) -> int:
    return small if SMALL else full
