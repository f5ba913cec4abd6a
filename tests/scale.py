"""How much the suite does: reduced counts by default, the full ones with `SCALE=full`."""

import os

FULL = os.environ.get("SCALE") == "full"  # noqa: TID251 — the suite's own switch, not product configuration


def count(reduced: int, full: int) -> int:
    """The number of rounds a test makes at the current scale."""
    return full if FULL else reduced


examples = count
