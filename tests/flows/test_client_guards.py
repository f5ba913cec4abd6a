"""Clients see what is theirs, through every method and every event, and miss nothing that was missed for them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.children import told_id
from roost.core.effects import EndRun
from roost.core.errors import RoostError, StoreCorrupt, StoreUnavailable
from roost.core.events import EventKind
from roost.core.feeds import Anchor, ListGap, ListItem, News, SessionGone, Shown
from roost.core.keys import SessionKey
from roost.core.messages import ToolResult
from roost.core.models import ModelRef, ModelRequest
from roost.core.notices import derived_id
from roost.core.previews import ModelAsked, Preview, RunBegan, RunOver
from roost.core.principals import OWNER
from roost.core.queries import HistoryPage, HistoryQuery
from roost.core.runs import Outcome, Run, RunState
from roost.core.sessions import Session
from roost.core.spawning import run_of
from roost.core.turntaking import Limits
from roost.core.visibility import PersonCaller
from roost.server.fanout import Fanout
from roost.server.sends import Send
from roost.stores.memory import MemoryStore
from roost.testing.scripts import Hang, Say, Script, Until
from roost.testing.wires import Refused
from tests.flows.gateways import Bench
from tests.flows.nursery import Nursery, newest, spawns, task_of
from tests.flows.served import Gate, Opened, gate_of, send
from tests.waiting import until_all_wait

MAIN = "agent:main:main"
ALICE = {"auth": {"token": "alice-token"}}


@pytest.mark.requirement("S7", "S10")
async def test_other_peoples_sessions_do_not_exist_for_a_client(opened: Opened) -> None:
    async with opened() as (gate, owner), gate.client(**ALICE) as alice:
        await alice.call("sessions.subscribe", {})
        gate.bench.model.add((Say("a secret"),), (Hang(),))
        await owner.call("chat.send", send("hello", "run-1"))
        await owner.event("chat", state="final")
        session = (await owner.call("sessions.describe", {"key": "main"}))["session"]
        for method, params in (
            ("chat.history", {"sessionKey": "main"}),
            ("chat.send", send("hi", "run-2")),
            ("chat.abort", {"sessionKey": "main"}),
            ("chat.inject", {"sessionKey": "main", "message": "x"}),
            ("agent", {"message": "hi", "sessionId": session["sessionId"], "idempotencyKey": "run-3"}),
            ("sessions.describe", {"key": "main"}),
            ("sessions.get", {"key": "main"}),
            ("sessions.resolve", {"sessionId": session["sessionId"]}),
            ("sessions.messages.subscribe", {"key": "main"}),
            ("sessions.create", {"key": "main"}),
            ("sessions.create", {"parentSessionKey": "main"}),
            ("sessions.patch", {"key": "main", "label": "Mine"}),
            ("sessions.reset", {"key": "main"}),
            ("sessions.delete", {"key": "agent:main:side"}),
            ("sessions.compact", {"key": "main"}),
        ):
            with pytest.raises(Refused, match=r"no such session|No session found"):
                await alice.call(method, params)
        assert (await alice.call("sessions.list"))["sessions"] == []
        assert (await alice.call("sessions.usage", {}))["totals"]["calls"] == 0
        assert (await alice.call("sessions.preview", {"keys": ["main"]}))["previews"][0][
            "status"
        ] == "missing"
        assert (await alice.call("agent.wait", {"runId": "run-1"}))["status"] == "timeout"
        assert alice.events[1:] == []
        assert len((await owner.call("sessions.get", {"key": "main"}))["messages"]) == 2


async def test_a_run_that_ended_unheard_is_told_of_after_a_gap(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        run = await _run(gate, "run-1")
        late = Fanout(gate.house)
        await hears(gate, late, began(run))
        assert [turn.name for turn in late.under_way(run.key)] == ["run-1"]
        client.events.clear()
        await hears(gate, late, ListGap())
        final = await client.event("chat", state="final")
        assert final["message"]["content"][0]["text"] == "words"
        assert late.under_way(run.key) == ()


async def test_a_run_that_ended_while_nobody_listened_is_told_of_by_who_listens_next(opened: Opened) -> None:
    async with opened() as (gate, client), anyio.create_task_group() as group:
        await client.call("sessions.create", {"key": "main"})
        await client.call("sessions.patch", {"key": "main", "responseUsage": "tokens"})
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello", "run-1"))
        first = (await client.event("chat", state="final"))["message"]
        late = Fanout(gate.house)
        await hears(gate, late, began(await _run(gate, "run-1")))
        client.events.clear()
        group.start_soon(late.serve)
        final = await client.event("chat", state="final")
        assert final["message"]["content"][0]["text"] == "words"
        assert final["message"]["usage"] == first["usage"]
        assert first["usage"]["estimated"] is True
        group.cancel_scope.cancel()


async def test_a_run_that_another_ended_and_that_is_cut_off_here_is_told_of_with_the_next_change(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        said, store = anyio.Event(), gate.house.store
        gate.bench.model.add((Until(said), Say("words")))
        await client.call("chat.send", send("hello", "run-1"))
        await gate.bench.model.asked(1)
        run = await _run(gate, "run-1")
        ended = EndRun(run_id=run.id, outcome=Outcome(state=RunState.FAILED, at=0, error="elsewhere"))
        await store.change_session(run.key, lambda snapshot: (ended,))
        said.set()
        await gate.engine.settled()
        await client.call("sessions.patch", {"key": "main", "label": "Changed"})
        assert (await client.event("chat", state="error"))["runId"] == "run-1"


class Away(MemoryStore):
    """A store that cannot be read for a moment."""

    away = False
    trouble: RoostError = StoreUnavailable("the disk is busy")

    async def news(self, key: SessionKey, *, after: int, limit: int) -> News:
        if self.away:
            raise StoreUnavailable("the disk is busy")
        return await super().news(key, after=after, limit=limit)

    async def session(self, key: SessionKey) -> Session | None:
        if self.away:
            raise StoreUnavailable("the disk is busy")
        return await super().session(key)

    async def history(self, query: HistoryQuery) -> HistoryPage:
        if self.away:
            raise self.trouble
        return await super().history(query)


async def test_an_end_that_could_not_be_told_is_told_by_who_listens_next(tmp_path: Path) -> None:
    store = Away(SystemClock())
    bench = Bench(store, SystemClock())
    bench.change(limits=Limits(ceiling=0))
    async with gate_of(bench, tmp_path) as gate, gate.client() as client, gate.client(**ALICE):
        await client.call("chat.send", send("hello", "run-1"))
        run = await _run(gate, "run-1")
        await client.call("chat.abort", {"sessionKey": "main"})
        await client.ended("run-1")
        client.events.clear()
        gate.house.sends.expect(Send(name="run-1", principal=OWNER, key=run.key, run_id=run.id))
        late, store.away = Fanout(gate.house), True
        with pytest.raises(StoreUnavailable):
            await hears(gate, late, ListGap())
        store.away = False
        await hears(gate, late, ListGap())
        await client.ended("run-1")
        assert gate.house.sends.awaited() == frozenset()


async def test_a_message_that_could_not_be_read_is_told_once_it_can_be(tmp_path: Path) -> None:
    clock = SystemClock()
    store = Away(clock)
    with anyio.fail_after(60):
        async with gate_of(Bench(store, clock), tmp_path) as gate, gate.client() as client:
            key = SessionKey.parse(MAIN)
            await client.call("sessions.create", {"key": "main"})
            await client.call("chat.inject", {"sessionKey": "main", "message": "one"})
            (connected,) = gate.house.clients
            late = Fanout(gate.house)
            late.listen(connected, None, key)
            store.away = True
            with pytest.raises(StoreUnavailable):
                await late.serve()
            store.away = False
            async with anyio.create_task_group() as group:
                group.start_soon(late.serve)
                told = await client.event("session.message")
                assert told["message"]["content"][0]["text"] == "one"
                group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("trouble", "times"),
    [(StoreUnavailable("the disk is busy"), 1), (StoreCorrupt("the file is damaged"), 0)],
)
async def test_a_report_that_could_not_be_read_is_told_once_when_it_can_be_and_never_in_the_way_of_others(
    tmp_path: Path, trouble: RoostError, times: int
) -> None:
    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Say("a part")]
        return [Say("Begun.")] if isinstance(newest(request), ToolResult) else spawns("part")

    store = Away(SystemClock())
    async with gate_of(Bench(store, SystemClock()), tmp_path) as gate, gate.client() as client:
        nursery = Nursery(gate.bench, act)
        await gate.engine.reload(replace(gate.engine.rules, cast=nursery.cast))
        await client.call("chat.send", send("go", "run-1"))
        await client.event("chat", runId="run-1", state="final")
        (child,) = await nursery.descendants()
        name = f"inject-{told_id(run_of(child.key))}"
        told = await client.event("chat", runId=name)
        run = await store.run(derived_id("announce", run_of(child.key)))
        assert run is not None
        client.events.clear()
        late = Fanout(gate.house)
        await hears(gate, late, began(run))
        store.away, store.trouble = True, trouble
        with pytest.raises(type(trouble)):
            await hears(gate, late, shown(RunOver(run=run), EventKind.RUN_ENDED, run.id))
        store.away = False
        await hears(gate, late, ListGap(), ListGap())
        await until_all_wait()
        again = [one["message"]["content"] for one in client.told("chat") if one["runId"] == name]
        assert again == [told["message"]["content"]] * times


async def test_nothing_is_kept_of_a_turn_that_is_over(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),))
        (connected,) = gate.house.clients
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        await client.call("chat.send", send("hello", "run-1"))
        await client.call("chat.send", send("/status", "run-2"))
        assert connected.began == set()
        run = await _run(gate, "run-1")
        late = Fanout(gate.house)
        await hears(gate, late, began(run), ListGap())
        assert late._ended == {}
        gate.house.clients.watch(connected)
        await hears(gate, late, began(run), ListGap())
        assert late._ended == {run.key: "run-1"}
        await hears(gate, late, SessionGone(key=run.key))
        assert late._ended == {}


async def test_what_was_stored_after_a_word_is_told_after_it(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("words"),))
        await client.call("chat.send", send("hello", "run-1"))
        await client.event("chat", state="final")
        run = await _run(gate, "run-1")
        (connected,) = gate.house.clients
        late = Fanout(gate.house)
        late.listen(connected, None, run.key)
        client.events.clear()
        asked = (await gate.house.store.history(HistoryQuery(key=run.key, limit=10))).entries[0]
        model = ModelAsked(
            key=run.key, run_id=run.id, answer=1, model=ModelRef(provider="scripted", model="one")
        )
        said = shown(model, EventKind.ENTRY, asked.id)
        await hears(gate, late, began(run), said, shown(RunOver(run=run), EventKind.RUN_ENDED, run.id))
        await client.event("chat", state="final")
        told = [_brief(event["payload"]) for event in client.events]
        assert [one for one in told if one] == ["user", "model", "assistant", "end"]


def _brief(payload: dict[str, Any]) -> str | None:
    if "message" in payload and "role" in payload["message"] and "state" not in payload:
        return str(payload["message"]["role"])
    phase = payload.get("data", {}).get("phase")
    return phase if phase in ("model", "end") else None


async def hears(gate: Gate, fanout: Fanout, *items: ListItem) -> None:
    async with gate.engine.feed.subscribe_all(PersonCaller(principal=OWNER)) as feed:
        for item in items:
            await fanout._hear(item, feed)


def began(run: Run) -> Shown:
    return shown(RunBegan(run=run), EventKind.RUN_STARTED, run.id)


def shown(preview: Preview, kind: EventKind, ref: str) -> Shown:
    return Shown(preview=preview, after=Anchor(kind, ref))


async def _run(gate: Gate, name: str) -> Run:
    record = await gate.house.store.inbound_by_key(OWNER, None, name)
    assert record is not None
    assert record.run_id is not None
    run = await gate.house.store.run(record.run_id)
    assert run is not None
    return run
