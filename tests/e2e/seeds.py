"""Homes that look lived in: conversations written straight into the store, before a gateway serves it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from roost.app.opening import open_held_store
from roost.clock import SystemClock
from roost.config import load
from roost.core.addresses import Address
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import AddDelivery
from roost.core.entries import EntryDraft
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, ToolCall, Usage
from roost.ports import Store
from roost.testing.builders import answered, returned, said
from tests.contract.scenes import change, opened

BATCH = 500
MINUTE = 60_000


@asynccontextmanager
async def seeding(home: Path) -> AsyncIterator[Store]:
    loaded = load({"ROOST_HOME": str(home)})
    async with open_held_store(loaded, Gateway(name="seed", holder="seed")) as store:
        yield store


def named(name: str) -> SessionKey:
    return SessionKey.named("main", name)


async def long_session(home: Path, length: int) -> None:
    """A session of so many messages, of lengths that differ."""
    key = named("long")
    async with seeding(home) as store:
        await opened(store, key)
        drafts = [_line(number) for number in range(length)]
        for start in range(0, length, BATCH):
            await store.append(key, tuple(drafts[start : start + BATCH]))


def _line(number: int) -> EntryDraft:
    name = f"m{number:05}"
    if number % 2 == 0:
        return said(name, f"question {number}")
    return answered(name, f"answer {number}\n\n" + "and so on, word after word. " * (number % 37))


async def talk(store: Store, name: str, drafts: Sequence[EntryDraft]) -> None:
    key = named(name)
    await opened(store, key)
    await store.append(key, tuple(drafts))


async def dead_letter(store: Store, name: str, text: str) -> None:
    """An answer that its channel refused."""
    delivery = Delivery(
        id=f"d-{name}",
        key=named(name),
        address=Address(channel="telegram", to="@ada"),
        kind=DeliveryKind.REPLY,
        text=text,
        created_at=SystemClock().now() - 12 * MINUTE,
        state=DeliveryState.FAILED,
        attempts=5,
        error="403: bot was blocked by the user",
    )
    await change(store, AddDelivery(delivery=delivery), key=delivery.key)


PLAN = """Here is a plan that keeps the old readers working:

1. Add the new column, **nullable**, and write both.
2. Backfill in batches of 1,000, oldest first.
3. Read from the new one; drop the old one a release later.

```python
async def backfill(store: Store, batch: int = 1_000) -> int:
    \"\"\"Copy what has no copy yet; how many rows were done.\"\"\"
    done = 0
    while rows := await store.without_copy(limit=batch):
        await store.copy(rows)  # one transaction
        done += len(rows)
    return done
```

| step | lock | can be undone |
|---|---|---|
| add | short | yes |
| backfill | none | yes |
| drop | short | **no** |
"""


def plan(now: int) -> list[EntryDraft]:
    spent = Usage(input=5_400, output=620, total=6_020, cost_micros=25_500)
    call = ToolCall(id="c1", name="sessions_search", arguments={"query": "migration batch size"})
    asks = answered("p2", "Let me see what was decided before.", at=now - 9 * MINUTE, usage=spent)
    body = asks.body
    assert isinstance(body, AssistantMessage)
    return [
        said("p1", "How do we move to the new column without downtime?", at=now - 10 * MINUTE),
        replace(asks, body=replace(body, content=(*body.content, call))),
        returned("p3", "c1", "sessions_search", "2 hits: “batches of 1,000 are fine”", at=now - 9 * MINUTE),
        answered("p4", PLAN, at=now - 8 * MINUTE, usage=spent),
        said("p5", "Good. Write the migration, and ask a helper to review it.", at=now - 2 * MINUTE),
        answered("p6", "The migration is written; a helper reads it now.", at=now - MINUTE, usage=spent),
    ]
