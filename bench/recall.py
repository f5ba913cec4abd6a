"""How fast a transcript of prose is made readable: filters, redaction, caps and the size of the page."""

import random
import time
from pathlib import Path

from bench.figures import Figure, reaches
from bench.scale import size
from roost.core.entries import Entry
from roost.core.messages import AssistantMessage, Provenance, ProvenanceKind, Text, UserMessage
from roost.core.recall import RecallOptions, recall
from roost.core.redaction import SecretScanner
from roost.scanners.re2 import Re2Scanner
from roost.scanners.stdlib import StdlibScanner

_TALK = """the gateway keeps a transcript of every session and answers once while people talk about plans, weather,
release notes, invoices and the garden; (sometimes) they quote code like `make test` or ask: what is next?"""


async def measure(_folder: Path) -> list[Figure]:
    """Megabytes of prose a second of CPU, the best of five rounds each."""
    return [
        reaches("recall with redaction, RE2", _rate(Re2Scanner(), kilobytes=size(8_000, 20)), 20, "MB/s"),
        reaches(
            "recall with redaction, standard library",
            _rate(StdlibScanner(), kilobytes=size(1_000, 20)),
            1,
            "MB/s",
        ),
    ]


def _rate(scanner: SecretScanner, *, kilobytes: int) -> float:
    entries = _transcript(kilobytes * 1_000)
    options = RecallOptions(scanner=scanner, page_bytes=1 << 40)
    best = min(_cpu_seconds(entries, options) for _ in range(5))
    return kilobytes / 1_000 / best


def _cpu_seconds(entries: tuple[Entry, ...], options: RecallOptions) -> float:
    started = time.process_time()
    page = recall(entries, options)
    taken = time.process_time() - started
    assert len(page.messages) == len(entries)
    return taken


def _transcript(size: int) -> tuple[Entry, ...]:
    """Turns of 300 and 3,000 characters, as people and models write them."""
    chance = random.Random(7)
    entries: list[Entry] = []
    while size > 0:
        asked, answered = (_prose(chance, length) for length in (300, 3_000))
        size -= len(asked) + len(answered)
        person = UserMessage(content=(Text(asked),), at=0, provenance=Provenance(kind=ProvenanceKind.HUMAN))
        for body in (person, AssistantMessage(content=(Text(answered),), at=0)):
            entries.append(Entry(session_id="s", seq=len(entries), id=f"e{len(entries)}", body=body))
    return tuple(entries)


def _prose(chance: random.Random, length: int) -> str:
    talk = _TALK.split()
    words: list[str] = []
    while length > 0:
        words.append(chance.choice(talk))
        length -= len(words[-1]) + 1
    return " ".join(words)
