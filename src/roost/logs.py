"""Where log lines go, in which form, and that no secret goes with them."""

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from io import BufferedWriter, FileIO, TextIOWrapper
from logging.handlers import MemoryHandler, RotatingFileHandler
from pathlib import Path
from typing import TextIO

from roost.core.redaction import redact, redact_all
from roost.locks import FileLock
from roost.ports import SecretScanner

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
OWN = "roost"
NAMED = ("trace", "run", "session")
"""What a line may be found by, given as its `extra`."""
KEPT_FILES = 3
GATHERED_S, MOST_GATHERED = 0.05, 256

_encoded = json.JSONEncoder(ensure_ascii=False).encode


class Form(StrEnum):
    TEXT = "text"
    JSON = "json"


class Masked(logging.Formatter):
    """A line with its trace, as a whole without secrets."""

    def __init__(self, scanner: SecretScanner) -> None:
        super().__init__(LINE)
        self._scanner = scanner

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 — the name that the base class gave it
        named = (f" {name}={value}" for name, value in _named(record))
        return super().formatMessage(record) + "".join(named)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._scanner)[0]


class MaskedJson(logging.Formatter):
    """A line as one JSON object, its texts without secrets."""

    def __init__(self, scanner: SecretScanner) -> None:
        super().__init__()
        self._scanner = scanner

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        texts = {"message": record.getMessage(), **{name: str(value) for name, value in _named(record)}}
        if record.exc_info:
            texts["error"] = self.formatException(record.exc_info)
        fields = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **dict(zip(texts, redact_all(tuple(texts.values()), self._scanner), strict=True)),
        }
        return _encoded(fields)


def _named(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    for name in NAMED:
        if value := record.__dict__.get(name):
            yield name, value


def formatter(form: Form, scanner: SecretScanner) -> logging.Formatter:
    return MaskedJson(scanner) if form is Form.JSON else Masked(scanner)


class _OwnersFile(RotatingFileHandler):
    """A file that nobody but its owner can read, nor those that it is rotated into. Of several processes that write into
    it one puts it aside when it is full; the others follow."""

    def __init__(self, file: Path, most_bytes: int) -> None:
        self._rotates = FileLock(file.with_suffix(".lock"))
        self._written: tuple[logging.LogRecord | None, str] = (None, "")
        super().__init__(file, maxBytes=most_bytes, backupCount=KEPT_FILES, encoding="utf-8")

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 — the name that the base class gave it
        line = self.format(record).encode(errors="replace")
        return 0 < self.maxBytes <= self._size() + len(line) + 1 and self._rotates.take()

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._written = (None, "")

    def format(self, record: logging.LogRecord) -> str:
        """Written once: whether a line still fits is asked before it is written down."""
        if record is not self._written[0]:
            self._written = (record, super().format(record))
        return self._written[1]

    def close(self) -> None:
        super().close()
        self._rotates.release()

    def _size(self) -> int:
        """Of the file that goes by the name now, which is open afterwards."""
        if self.stream is not None:
            own = os.fstat(self.stream.fileno())
            if self._goes_by_the_name(own):
                return own.st_size
            self.stream.close()
            self.stream = None
        self.stream = self._open()
        return os.fstat(self.stream.fileno()).st_size

    def _goes_by_the_name(self, own: os.stat_result) -> bool:
        try:
            return os.path.samestat(os.stat(self.baseFilename), own)
        except FileNotFoundError:
            return False

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        opened = FileIO(os.open(self.baseFilename, flags, 0o600), "a")
        return TextIOWrapper(BufferedWriter(opened), encoding=self.encoding)


class _Gathered(MemoryHandler):
    """Hands lines on a moment later, several at once, and not while somebody waits for what they are about. A warning goes on
    at once, with all that came before it: whoever kills the process loses no more than that moment of good news."""

    def __init__(self, to: logging.Handler) -> None:
        super().__init__(MOST_GATHERED, flushLevel=logging.WARNING, target=to)
        self._alarm: asyncio.TimerHandle | None = None

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        if not self.buffer or self._alarm is not None:
            return
        try:
            self._alarm = asyncio.get_running_loop().call_later(GATHERED_S, self._hand_on)
        except RuntimeError:
            # On a thread without a loop nobody comes back to it.
            self.flush()

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        super().close()

    def _hand_on(self) -> None:
        self._alarm = None
        self.flush()


@contextmanager
def logging_to(
    stream: TextIO, scanner: SecretScanner, level: int = logging.WARNING, form: Form = Form.TEXT
) -> Iterator[None]:
    """Within the block every line of Roost from a level on goes to a stream; those of others do as they did."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter(form, scanner))
    with _heard(handler, level, logging.getLogger(OWN)):
        yield


@contextmanager
def logging_into(file: Path, scanner: SecretScanner, level: int, most_bytes: int) -> Iterator[None]:
    """Within the block every line of Roost from a level on, and what others warn of, is kept in a file as JSON; one that
    is full is put aside."""
    for folder in (file.parent.parent, file.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = _OwnersFile(file, most_bytes)
    kept.setFormatter(MaskedJson(scanner))
    handler = _Gathered(kept)
    with _heard(handler, level, logging.getLogger()):
        try:
            yield
        finally:
            handler.close()
            kept.close()


@contextmanager
def _heard(handler: logging.Handler, level: int, by: logging.Logger) -> Iterator[None]:
    own = logging.getLogger(OWN)
    handler.setLevel(level)
    before = own.level
    by.addHandler(handler)
    own.setLevel(min(level, before) if before else level)
    try:
        yield
    finally:
        by.removeHandler(handler)
        own.setLevel(before)
