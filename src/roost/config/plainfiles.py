"""A small file, read whole. What could be waited for without end, or never ends, is not begun."""

import os
import stat
from pathlib import Path


class Unfit(Exception):
    """Why a file is not read, in words that follow its name."""


def read_plain(path: Path, largest: int, what: str) -> tuple[bytes, os.stat_result]:
    """The bytes of a file that has at most so many, and what it is. Raises `OSError` as opening it does."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Unfit("is not a file")
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise Unfit(f"is too large for {what}")
    return content, status
