"""How much the suite does: reduced counts by default, the full ones with `SCALE=full`.

Each `ROUND` of a soak makes the reduced counts with numbers of its own; together they come to the full ones and further.
"""

import os
import resource

FULL = os.environ.get("SCALE") == "full"  # noqa: TID251 — the suite's own switch, not product configuration
SPARE_FILES = 500
ROUND = int(os.environ.get("ROUND", "0"))  # noqa: TID251 — see above


def count(reduced: int, full: int) -> int:
    """The number of rounds a test makes at the current scale."""
    return full if FULL else reduced


def seeds(reduced: int, full: int) -> range:
    """So many numbers to begin a chance with, others in each round."""
    number = count(reduced, full)
    return range(ROUND * number, (ROUND + 1) * number)


def chosen(place: int, step: int) -> bool:
    """Whether a place is one of every `step`, others in each round."""
    return place % step == ROUND % step


examples = count


def pairs(most: int) -> int:
    """So many connections of which this process has both ends, or as many as its limit of files permits."""
    return min(most, (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES) // 2)
