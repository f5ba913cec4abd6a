"""How fast a transcript of prose is made readable: filters, redaction, caps and the size of the page."""

import random
import time

from roost.core.entries import Entry
from roost.core.messages import AssistantMessage, Provenance, ProvenanceKind, Text, UserMessage
from roost.core.recall import RecallOptions, recall
from roost.core.redaction import SecretScanner
from roost.scanners.re2 import Re2Scanner
from roost.scanners.stdlib import StdlibScanner

_WORDS = (
    "the gateway keeps a transcript of every session and answers once while people talk about plans, weather,"
    " release notes, invoices and the garden; (sometimes) they quote code like `make test` or ask: what is next?"
).split()


def measure() -> dict[str, float]:
    """Megabytes of prose a second, the best of five rounds each."""
    return {
        "recall_mb_per_s": _rate(Re2Scanner(), megabytes=8, rounds=5),
        "recall_stdlib_mb_per_s": _rate(StdlibScanner(), megabytes=1, rounds=5),
    }


def _rate(scanner: SecretScanner, *, megabytes: int, rounds: int) -> float:
    entries = _transcript(megabytes * 1_000_000)
    options = RecallOptions(scanner=scanner, page_bytes=1 << 40)
    best = min(_cpu_seconds(entries, options) for _ in range(rounds))
    return megabytes / best


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
    words: list[str] = []
    while length > 0:
        words.append(chance.choice(_WORDS))
        length -= len(words[-1]) + 1
    return " ".join(words)
