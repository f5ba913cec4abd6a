"""Where log lines go, and that no secret goes with them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from roost.core.redaction import redact
from roost.ports import SecretScanner

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
NAMED = ("trace", "run")
"""What a line may be found by, given as its `extra`."""


class Masked(logging.Formatter):
    """A line with its trace, as a whole without secrets."""

    def __init__(self, scanner: SecretScanner) -> None:
        super().__init__(LINE)
        self._scanner = scanner

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 — the name that the base class gave it
        named = (f" {name}={record.__dict__[name]}" for name in NAMED if record.__dict__.get(name))
        return super().formatMessage(record) + "".join(named)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._scanner)[0]


@contextmanager
def logging_to(stream: TextIO, scanner: SecretScanner, level: int = logging.WARNING) -> Iterator[None]:
    """Within the block every line of Roost from a level on goes to a stream; those of others do as they did."""
    logger = logging.getLogger("roost")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Masked(scanner))
    handler.setLevel(level)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(min(level, before) if before else level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
