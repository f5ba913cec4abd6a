"""Real gateways on one PostgreSQL to which everything happens: no message is lost, none is answered twice, each session
keeps its order, and what one leaves another takes over."""

import asyncio
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import anyio
import asyncpg
import pytest

from roost.client import Client
from roost.clock import SystemClock
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS
from roost.core.messages import AssistantMessage, UserMessage, text_of
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, SessionQuery
from roost.engine.scheduler import RUNS
from roost.ports import Store
from roost.stores.postgres import PostgresStore
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Hang, Say, Until
from tests import forks, postgres
from tests.faults.crew import NAMES, Member, crews, say
from tests.parts import NeedPart
from tests.scale import FULL, count, seeds

SESSIONS, EACH = count(30, 300), count(5, 10)
FAULTS = count(2, 12)
TAKEN_OVER_S = 10
# Of who is not answered. Shorter than a busy machine needs for all who ask at once, they would only ask again.
PATIENCE_S = 30
WITHIN_S = 120
CLAIMED = """SELECT EXISTS (SELECT 1 FROM roost.runs WHERE state = 'running'
    AND body::json -> 'claim' ->> 'gateway' = $1 AND (body::json -> 'claim' ->> 'epoch')::bigint = $2)"""
NUMBER = re.compile(r"number (\d{3})\.")
ANSWER = re.compile(r"re((?: \d{3})+)")


def key_of(session: int) -> SessionKey:
    return SessionKey.named("main", f"room-{session}")


def idempotency_key(session: int, number: int) -> str:
    return f"{session}-{number}"


def unanswered(asked: Asked) -> list[str]:
    """The numbers that the conversation names and nobody has answered."""
    messages = asked.body["messages"]
    assert isinstance(messages, list)
    numbers: list[str] = []
    for one in messages:
        if one["role"] == "assistant":
            numbers.clear()
        elif one["role"] == "user":
            numbers += NUMBER.findall(str(one["content"]))
    return numbers


def slow_model(chance: Random) -> Callable[[Asked], Reply]:
    """Answers name every number that has none yet, a moment later."""

    def reply(asked: Asked) -> Reply:
        ready = anyio.Event()
        asyncio.get_running_loop().call_later(chance.random(), ready.set)
        return reply_of([Until(ready), Say(" ".join(["re", *unanswered(asked)]))])

    return reply


@asynccontextmanager
async def servers(need_part: NeedPart) -> AsyncIterator[tuple[postgres.Server, Store]]:
    """A server that may be restarted, and its rows as the test sees them."""
    programs = postgres.binaries()
    need_part("PostgreSQL", present=programs is not None, remedy=postgres.REMEDY)
    assert programs is not None
    with postgres.running(programs) as server:
        store = await PostgresStore.open(server.address, SystemClock())
        try:
            yield server, store
        finally:
            await store.close()


# -- what happens ------------------------------------------------------------------------------------


class Weather:
    """People who write to any gateway, and what happens to gateways meanwhile."""

    def __init__(self, server: postgres.Server, store: Store, members: list[Member], chance: Random) -> None:
        self._server, self._store, self._members, self._chance = server, store, members, chance
        self._said = 0
        self._news = anyio.Event()
        self.asked = 0
        self.taken_over_s: list[float] = []

    async def pass_over(self) -> None:
        async with anyio.create_task_group() as group:
            for session in range(SESSIONS):
                group.start_soon(self._talk, session)
            total = SESSIONS * EACH
            for fault in range(FAULTS):
                await self._until_said(total * (fault + 1) // (FAULTS + 2))
                if fault == FAULTS // 2:
                    await asyncio.to_thread(self._server.restart)
                    print("the database was restarted")  # noqa: T201 — shown when it fails
                member = self._chance.choice(self._members)
                await member.serves()
                await (self._kill(member) if fault % 2 else self._pause(member))

    async def _talk(self, session: int) -> None:
        for number in range(EACH):
            message = {
                "sessionKey": str(key_of(session)),
                "message": f"number {number:03}. words",
                "idempotencyKey": idempotency_key(session, number),
            }
            asked = await say(self._any_client, message, PATIENCE_S)
            self.asked += asked
            self._said += 1
            self._news.set()
            self._news = anyio.Event()

    def _any_client(self) -> Client | None:
        return self._chance.choice(self._members).client

    async def _until_said(self, number: int) -> None:
        while self._said < number:
            await self._news.wait()

    async def _kill(self, member: Member) -> None:
        lease = await self._lease(member)
        member.kill()
        await self._watch(lease)

    async def _pause(self, member: Member) -> None:
        """Past its lease: when it wakes up it has lost the store, and serves under another."""
        process, lease = member.process, await self._lease(member)
        forks.signalled(process, signal.SIGSTOP)
        await self._watch(lease)
        await self._store.wait_for(RUNS, lambda: self._expired(lease))
        forks.signalled(process, signal.SIGCONT)
        with anyio.fail_after(WITHIN_S):
            await self._store.wait_for(RUNS, partial(regained, self._store, *lease))
        assert "Traceback" not in member.errors

    async def _lease(self, member: Member) -> tuple[str, int]:
        """Under which name and epoch it serves."""
        holder = f"process {member.process.pid} on "
        (lease,) = [one for one in await self._store.gateways() if one.gateway.holder.startswith(holder)]
        return lease.gateway.name, lease.epoch

    async def _expired(self, lease: tuple[str, int]) -> bool | None:
        """By the clock of this machine, which is the server's too."""
        now = SystemClock().now()
        held = [one for one in await self._store.gateways() if one.live(now)]
        return None if lease in [(one.gateway.name, one.epoch) for one in held] else True

    async def _watch(self, lease: tuple[str, int]) -> None:
        """How long what it was doing stays with it."""
        began = time.monotonic()
        if await self._of(lease):
            await self._store.wait_for(RUNS, lambda: self._left(lease))
            self.taken_over_s.append(time.monotonic() - began)

    async def _left(self, lease: tuple[str, int]) -> bool | None:
        return None if await self._of(lease) else True

    async def _of(self, lease: tuple[str, int]) -> bool:
        """Whether it has claimed runs."""
        connection = await asyncpg.connect(self._server.address)
        try:
            return bool(await connection.fetchval(CLAIMED, *lease))
        finally:
            await connection.close()


async def regained(store: Store, name: str, epoch: int) -> bool | None:
    """Whether a gateway that lost its lease has another."""
    return any(one.gateway.name == name and one.epoch > epoch for one in await store.gateways()) or None


async def settled(store: Store) -> None:
    async def at_rest() -> bool | None:
        page = await store.list_sessions(SessionQuery(limit=SESSIONS + 1))
        return None if any(row.status.active for row in page.rows) else True

    await store.wait_for(RUNS, at_rest)


# -- what came of it ---------------------------------------------------------------------------------


async def judge(store: Store, session: int) -> Counter[InboundState]:
    """Every message of a session has one end, in the order in which they were said; none was answered twice."""
    records = [await _record(store, session, number) for number in range(EACH)]
    page = await store.history(HistoryQuery(key=key_of(session), limit=10_000))
    bodies = [entry.body for entry in page.entries]
    heard = [
        int(number)
        for body in bodies
        if isinstance(body, UserMessage)
        for number in NUMBER.findall(text_of(body))
    ]
    dead = [number for number, record in enumerate(records) if record.state is InboundState.DEAD]
    if heard != sorted(set(heard)):
        for event in await store.events(key_of(session), after=0, limit=1_000):
            print(event.number, event.at, event.kind, event.ref)  # noqa: T201 — shown when it fails
        print(*records, *page.entries, sep="\n")  # noqa: T201 — shown when it fails
    assert heard == [number for number in range(EACH) if number not in dead], (session, heard, dead)
    answers = [ANSWER.fullmatch(text_of(body)) for body in bodies if isinstance(body, AssistantMessage)]
    told = Counter(number for answer in answers if answer for number in answer[1].split())
    assert [number for number, times in told.items() if times > 1] == [], session
    return Counter(record.state for record in records)


async def _record(store: Store, session: int, number: int) -> InboundRecord:
    record = await store.inbound_by_key(OWNER, key_of(session), idempotency_key(session, number))
    assert record is not None, f"message {number} of session {session} was lost"
    return record


@pytest.mark.requirement("P30", "P3", "P10", "P14", "F6")
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("seed", seeds(1, 1))
async def test_whatever_happens_to_three_gateways_each_message_comes_to_one_end_in_its_order(
    tmp_path: Path, seed: int, need_part: NeedPart
) -> None:
    chance = Random(seed)
    async with (
        servers(need_part) as (server, store),
        FakeOpenAI(otherwise=slow_model(chance)) as model,
        crews(tmp_path, server.address, model.base_url, *NAMES) as members,
    ):
        weather = Weather(server, store, members, chance)
        await weather.pass_over()
        await settled(store)
        ends: Counter[InboundState] = Counter()
        for session in range(SESSIONS):
            ends += await judge(store, session)
        print(dict(ends), f"{weather.asked} asked, taken over after {weather.taken_over_s}")  # noqa: T201 — shown when it fails
        assert ends.total() == SESSIONS * EACH
        assert ends[InboundState.PENDING] == 0
        assert await store.check() == ()
    if FULL:
        assert weather.taken_over_s
        assert max(weather.taken_over_s) <= TAKEN_OVER_S


class HoldingModel:
    """The first call never ends."""

    def __init__(self) -> None:
        self.calls = 0
        self.first, self.second = anyio.Event(), anyio.Event()

    def __call__(self, asked: Asked) -> Reply:
        self.calls += 1
        if self.calls == 1:
            self.first.set()
            return reply_of([Hang()])
        self.second.set()
        return reply_of([Say(" ".join(["re", *unanswered(asked)]))])


@pytest.mark.requirement("P30")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", ["killed", "stopped"])
async def test_a_run_whose_gateway_is_gone_goes_on_at_another_within_ten_seconds(
    tmp_path: Path, fault: str, need_part: NeedPart
) -> None:
    model = HoldingModel()
    async with (
        servers(need_part) as (server, store),
        FakeOpenAI(otherwise=model) as endpoint,
        crews(tmp_path, server.address, endpoint.base_url, *NAMES[:2]) as members,
    ):
        message = {
            "sessionKey": str(key_of(0)),
            "message": "number 000. words",
            "idempotencyKey": idempotency_key(0, 0),
        }
        await say(lambda: members[0].client, message, WITHIN_S)
        await _until(model.first.wait)
        (run,) = await store.active_runs(key_of(0))
        assert run.claim is not None
        lost = await _member(store, members, run.claim.gateway)
        began = time.monotonic()
        process = lost.process
        forks.signalled(process, signal.SIGKILL if fault == "killed" else signal.SIGSTOP)
        await _until(model.second.wait)
        taken_over_s = time.monotonic() - began
        print(f"taken over after {taken_over_s:.1f} s")  # noqa: T201 — shown when it fails
        await settled(store)
        if fault == "stopped":
            forks.signalled(process, signal.SIGCONT)
            await store.wait_for(RUNS, partial(regained, store, run.claim.gateway, run.claim.epoch))
            assert "it serves again" in lost.errors
            assert "Traceback" not in lost.errors
        page = await store.history(HistoryQuery(key=key_of(0), limit=100))
        words = [
            text_of(entry.body)
            for entry in page.entries
            if isinstance(entry.body, UserMessage | AssistantMessage)
        ]
        assert words == ["number 000. words", "re 000"]
    assert LEASE_MS / 1_000 < TAKEN_OVER_S
    if FULL:
        assert taken_over_s <= TAKEN_OVER_S


async def _member(store: Store, members: list[Member], name: str) -> Member:
    (holder,) = [one.gateway.holder for one in await store.gateways() if one.gateway.name == name]
    (found,) = [member for member in members if holder.startswith(f"process {member.process.pid} on ")]
    return found


async def _until(happened: Callable[[], Awaitable[object]]) -> None:
    with anyio.fail_after(WITHIN_S):
        await happened()
