"""Homes that look lived in: conversations written straight into the store, before a gateway serves it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from roost.app.opening import open_held_store
from roost.clock import SystemClock
from roost.config import load
from roost.core.addresses import Address, ChatType
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import AddDelivery, OpenGeneration
from roost.core.entries import EntryDraft
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.jobs import AgentTurn, Announce, DecideJob, Job, Plan
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, Compaction, ToolCall, Usage
from roost.core.principals import OWNER
from roost.core.schedules import Cron, Every, next_due
from roost.core.sessions import OpenedBy
from roost.core.sources import cron_key
from roost.ports import Store
from roost.testing.builders import answered, generation, returned, said, session
from tests.contract.scenes import change, opened

BATCH = 500
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


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


TALL = {
    "tall-lines": "\n".join(f"line {number}" for number in range(300)),
    "tall-list": "\n".join(f"- item {number}" for number in range(80)),
    "tall-paragraphs": "\n\n".join(f"paragraph {number}" for number in range(60)),
}


async def tall_sessions(home: Path) -> None:
    """Sessions with a message that is taller than a page, said and answered, shortly before their end."""
    async with seeding(home) as store:
        for name, text in TALL.items():
            for after in (1, 2):
                last = [said("q", "and then?"), answered("a", "That was all.")] * after
                drafts = [said("first", "Begin."), answered("tall", text), *last]
                numbered = [replace(one, id=f"{name}-{after}-{at}") for at, one in enumerate(drafts)]
                await talk(store, f"{name}-{after}", numbered)


async def talk(store: Store, name: str, drafts: Sequence[EntryDraft]) -> None:
    key = named(name)
    await opened(store, key)
    await store.append(key, tuple(drafts))


async def journal(store: Store, now: int) -> None:
    """Two days in one session: condensed on the first, reset in the night, with another model on the second."""
    name, key = "journal", named("journal")
    night = now - now % DAY + 4 * 60 * MINUTE
    night -= DAY if night > now - 60 * MINUTE else 0
    before = night - 10 * 60 * MINUTE
    await talk(
        store,
        name,
        [
            said("j1", "Keep a journal of the garden for me.", at=before),
            answered("j2", "Gladly. What did you see today?", at=before + MINUTE),
            EntryDraft(
                id="j3",
                body=Compaction(
                    summary="A journal is kept.", first_kept_id=None, tokens_before=9_000, at=before
                ),
            ),
            said("j4", "Two wrens in the hedge.", at=before + 9 * MINUTE),
            answered("j5", "Two wrens, noted.", at=before + 10 * MINUTE),
        ],
    )
    fresh = replace(
        generation(key, f"{key}-2", 2, at=night),
        opened_by=OpenedBy.DAILY,
        rule="default: daily at 04:00",
    )
    await change(store, OpenGeneration(generation=fresh), key=key)
    await store.append(
        key,
        (
            said("j6", "The wrens are back.", at=now - 40 * MINUTE),
            answered("j7", "Both of them? I write it down.", at=now - 39 * MINUTE),
        ),
    )


async def chat_elsewhere(store: Store, now: int) -> None:
    """A conversation on a channel."""
    key = SessionKey.parse("agent:main:telegram:direct:ada")
    row = session(key, at=now - 50 * MINUTE)
    facts = row.facts._replace(channel="telegram", chat_type=ChatType.DIRECT, peer="ada")
    await opened(store, key, row=row._replace(facts=facts))
    lines = (
        said("t1", "Is the shop open tomorrow?", at=now - 50 * MINUTE),
        answered("t2", "From nine to six.", at=now - 49 * MINUTE),
    )
    await store.append(key, lines)


async def jobs(store: Store, now: int) -> None:
    """One that went well, one that did not, and one that rests."""
    morning = Cron(expression="0 7 * * 1-5", zone="Europe/Berlin")
    plans = {
        "weather": Plan(
            name="Weather",
            agent="main",
            schedule=morning,
            work=AgentTurn(message="Will it rain today? Say it in one line."),
            telling=Announce(),
        ),
        "backups": Plan(
            name="Look after the backups",
            agent="main",
            schedule=Every(every_ms=6 * 60 * MINUTE, anchor=now),
            work=AgentTurn(message="Check that last night's backup can be read, and say what is missing."),
        ),
        "digest": Plan(
            name="Weekly digest",
            agent="main",
            schedule=Cron(expression="30 17 * * 5"),
            work=AgentTurn(message="Write down what was decided this week."),
            enabled=False,
        ),
    }
    for name, plan in plans.items():
        due = next_due(plan.schedule, now, lambda zone: ZoneInfo(zone or "UTC")) if plan.enabled else None
        job = Job(id=name, owner=OWNER, plan=plan, created_at=now, updated_at=now, next_at=due)
        await store.change_job(name, always_job(job))
    last = next_due(morning, now - 4 * DAY, lambda zone: ZoneInfo(zone or "UTC"))
    assert last is not None
    for number in range(3):
        at = last - (2 - number) * DAY
        well = Firing(
            id=f"w{number}",
            job_id="weather",
            due_at=at,
            at=at,
            state=FiringState.OK,
            key=cron_key("main", "weather"),
            ended_at=at + 4_200,
            summary="Dry until four, then showers.",
        )
        await change(store, PutFiring(firing=well), key=named("groceries"))
    failed = Firing(
        id="b0",
        job_id="backups",
        due_at=now - 90 * MINUTE,
        at=now - 90 * MINUTE,
        state=FiringState.ERROR,
        key=cron_key("main", "backups"),
        ended_at=now - 89 * MINUTE,
        error="the run took longer than 60 s",
    )
    await change(store, PutFiring(firing=failed), key=named("groceries"))


def always_job(job: Job) -> DecideJob:
    return lambda known: job


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
