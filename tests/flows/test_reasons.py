"""Why a session is as it is and what happened in it, through the door of clients, over each store."""

from dataclasses import replace

import pytest

from roost.core.effects import PutExchange, RecordDenial
from roost.core.entries import EntryDraft
from roost.core.exchanges import Exchange
from roost.core.ledger import Denial
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.messages import Compaction, ToolCall, Usage
from roost.core.models import FailureKind, ModelRef
from roost.core.principals import OWNER, person
from roost.core.queries import LedgerQuery
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.engine.rules import Answerer, Part
from roost.testing.builders import MAIN
from roost.testing.builders import session as session_row
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import CallTool, Fail, Say, Spend
from roost.testing.wires import LocalClient, Refused
from tests.contract.scenes import change
from tests.contract.scenes import opened as open_session
from tests.flows.gateways import SPEC
from tests.flows.served import Gate, Opened, send
from tests.flows.test_http import Stub

ALICE = {"auth": {"token": "alice-token"}}
KEYED = (
    "sessions.explain",
    "sessions.timeline",
    "sessions.denials",
    "sessions.ledger",
    "sessions.exchanges",
    "sessions.usage.timeseries",
    "sessions.usage.logs",
)


async def talk(gate: Gate, client: LocalClient, *texts: str) -> None:
    for number, text in enumerate(texts):
        gate.bench.model.add((Say(f"re: {text}"), Spend(Usage(input=10, output=5, cost_micros=1_000_000))))
        name = f"{text}-{number}"
        await client.call("chat.send", send(text, name))
        await client.event("chat", runId=name, state="final")
    await gate.engine.settled()


@pytest.mark.requirement("D43")
async def test_the_reset_of_a_channel_holds_in_a_session_that_a_client_opened(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, "hello")
        never = ResetPolicy(by_channel={"loopback": ResetSetting(mode=ResetMode.NONE)})
        await gate.engine.reload(replace(gate.engine.rules, resets=never))
        (here,) = (await client.call("sessions.explain", {"key": "main", "about": "reset"}))["reasons"]
        assert "(default: daily at 04:00)" in here["text"]
        await gate.bench.say("/explain reset")
        (there,) = await gate.bench.replies()
        assert "session.resetByChannel.loopback: none" in there
        gate.bench.model.add((Say("hi"),))
        await gate.bench.say("from a chat")
        await gate.bench.replies(at_least=2)
        (now,) = (await client.call("sessions.explain", {"key": "main", "about": "reset"}))["reasons"]
        assert "session.resetByChannel.loopback: none" in now["text"]


@pytest.mark.requirement("F9", "P29")
async def test_the_reasons_of_a_session_are_given_one_or_all(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, "hello")
        told = await client.call("sessions.explain", {"key": "main"})
        assert told["key"] == "agent:main:main"
        assert [one["about"] for one in told["reasons"]] == [
            "route",
            "model",
            "reset",
            "silence",
            "denial",
            "trace",
            "cost",
        ]
        (route,) = (await client.call("sessions.explain", {"key": "main", "about": "route"}))["reasons"]
        assert route["text"] == "Session: agent:main:main, because of the key that its client named."
        (cost,) = (await client.call("sessions.explain", {"key": "main", "about": "cost"}))["reasons"]
        assert cost["text"].startswith("Cost: $1.0000 in 1 model call")
        with pytest.raises(Refused, match="about"):
            await client.call("sessions.explain", {"key": "main", "about": "weather"})


@pytest.mark.requirement("F4", "P26")
async def test_one_timeline_goes_through_compactions_and_resets_by_its_cursor(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, "one")
        condensed = Compaction(summary="one", first_kept_id=None, tokens_before=9, at=1)
        await gate.house.store.append(MAIN, (EntryDraft(id="condensed", body=condensed),))
        await talk(gate, client, "two")
        await client.call("sessions.reset", {"key": "main"})
        await talk(gate, client, "three")
        whole = await client.call("sessions.timeline", {"key": "main"})
        assert whole["before"] is None
        said = [_shown(row) for row in whole["messages"]]
        assert said == ["one", "re: one", "(compaction)", "two", "re: two", "(reset)", "three", "re: three"]
        paged: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await client.call("sessions.timeline", {"key": "main", "limit": 2, **cursor})
            paged[:0] = [_shown(row) for row in page["messages"]]
            if page["before"] is None:
                break
            cursor = {"before": page["before"]}
        assert paged == said


@pytest.mark.requirement("P18")
async def test_a_timeline_says_why_another_model_went_on(opened: Opened) -> None:
    spare = replace(SPEC, ref=ModelRef("spare", "two"))
    async with opened() as (gate, client):
        understudy, usual = ScriptedModel(clock=gate.bench.clock), gate.bench.cast
        voice = Answerer(model=understudy, spec=spare)

        def cast(session: Session, run: Run) -> Part:
            return replace(usual(session, run), fallbacks=(voice,))

        await gate.engine.reload(replace(gate.engine.rules, cast=cast))
        await talk(gate, client, "one", "two")
        gate.bench.model.add((Fail(FailureKind.RATE_LIMIT, "out of order"),), (Say("back"),))
        understudy.add((Say("from the second"),))
        for name in ("three", "four"):
            await client.call("chat.send", send(name, name))
            await client.event("chat", runId=name, state="final")
        await gate.engine.settled()
        rows = (await client.call("sessions.timeline", {"key": "main", "roles": ["assistant"]}))["messages"]
        assert [row["__openclaw"].get("modelReason") for row in rows] == [
            "the only model",
            None,
            "fallback because scripted/one (the only model) failed: rate_limit, out of order",
            "the only model",
        ]


async def test_a_timeline_is_narrowed_by_role_tool_error_and_time(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((CallTool(ToolCall(id="c1", name="nothing", arguments={})),), (Say("done"),))
        await client.call("chat.send", send("go", "run-1"))
        await client.event("chat", state="final")

        async def roles(**more: object) -> list[str]:
            page = await client.call("sessions.timeline", {"key": "main", **more})
            return [row["role"] for row in page["messages"]]

        assert await roles() == ["user", "assistant", "toolResult", "assistant"]
        assert await roles(roles=["user", "toolResult"]) == ["user", "toolResult"]
        assert await roles(tool="nothing") == ["toolResult"]
        assert await roles(tool="other") == []
        assert await roles(errors=True) == ["toolResult"]
        now = gate.bench.clock.now()
        assert await roles(since=now + 1) == []
        assert len(await roles(until=now + 1)) == 4
        for cursor in ("x", "1", "1:2:3", ":"):
            with pytest.raises(Refused, match="before"):
                await client.call("sessions.timeline", {"key": "main", "before": cursor})


async def test_what_was_spent_is_told_call_by_call_and_added_up(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, "one", "two", "three")
        page = await client.call("sessions.ledger", {"key": "main", "limit": 2})
        assert (len(page["calls"]), page["hasMore"], page["totals"]["calls"]) == (2, True, 3)
        rest = await client.call("sessions.ledger", {"key": "main", "tree": True, "offset": 2})
        assert (len(rest["calls"]), rest["hasMore"]) == (1, False)
        assert rest["calls"][0]["usage"]["totalCost"] == 1.0
        everything = await client.call("sessions.ledger", {"agentId": "main"})
        assert everything["totals"]["totalCost"] == 3.0
        assert (await gate.house.store.usage(LedgerQuery())).calls == 3
        used = await client.call("sessions.usage", {})
        assert used["totals"]["totalCost"] == 3.0
        (model,) = used["aggregates"]["byModel"]
        assert (model["provider"], model["model"], model["count"]) == ("scripted", "one", 3)
        assert used["aggregates"]["byProvider"][0]["totals"] == model["totals"]
        assert used["aggregates"]["byAgent"][0]["agentId"] == "main"
        (day,) = used["aggregates"]["costDaily"]
        assert (day["date"], day["totalCost"]) == (used["endDate"], 3.0)
        said = used["aggregates"]["messages"]
        assert (said["total"], said["user"], said["assistant"], said["toolResults"]) == (6, 3, 3, 0)
        (daily,) = used["aggregates"]["daily"]
        assert (daily["messages"], daily["cost"], daily["date"]) == (6, 3.0, used["endDate"])


async def test_what_was_refused_is_told_to_the_owner_and_tells_nobody_else_what_there_is(
    opened: Opened,
) -> None:
    async with opened() as (gate, owner), gate.client(**ALICE) as alice:
        await talk(gate, owner, "hello")
        with pytest.raises(Refused, match=r"no such session|No session found"):
            await alice.call("chat.history", {"sessionKey": "main"})
        async with gate.client(scopes=["operator.write"]) as writer:
            await writer.call("chat.send", send("/reset", "run-2"))
        seen = (await owner.call("sessions.denials", {}))["denials"]
        assert [one["operation"] for one in seen] == ["/new", "history"]
        here = (await owner.call("sessions.denials", {"key": "main"}))["denials"]
        assert [one["rule"] for one in here] == ["missing scope: operator.admin"]
        assert len((await owner.call("sessions.denials", {"limit": 1}))["denials"]) == 1
        assert (await alice.call("sessions.denials", {}))["denials"] == []


@pytest.mark.requirement("P29", "F9")
async def test_what_was_refused_in_one_session_is_told_of_that_session_and_of_no_other(
    opened: Opened,
) -> None:
    async with opened() as (gate, owner), gate.client(**ALICE) as alice, gate.browser() as http:
        gate.bench.tools = (Stub("sessions_list"),)
        asked = {"tool": "sessions_list", "sessionKey": "s1"}
        assert (await http.post("/tools/invoke", json=asked)).status_code == 404
        for key in ("other", "telegram:direct:7"):
            await owner.call("sessions.create", {"key": f"agent:main:{key}"})
        with pytest.raises(Refused, match=r"no such session|No session found"):
            await alice.call("chat.history", {"sessionKey": "agent:main:other"})
        knocked = (
            Denial(at=1, operation="inbound", principal=person("telegram", who), rule=who, reason="x")
            for who in ("7", "8")
        )
        await change(gate.house.store, *(RecordDenial(denial=one) for one in knocked))

        async def told(key: str) -> str:
            ask = {"key": f"agent:main:{key}", "about": "denial"}
            (reason,) = (await owner.call("sessions.explain", ask))["reasons"]
            return str(reason["text"])

        (denied,) = (await owner.call("sessions.denials", {"key": "s1"}))["denials"]
        assert (denied["operation"], denied["sessionKey"]) == ("sessions_list", "agent:main:s1")
        assert "sessions_list by owner" in await told("s1")
        assert "sessions_list" not in await told("other")
        assert "history by person:telegram:7" in await told("other")
        assert "inbound" not in await told("other")
        hers = await told("telegram:direct:7")
        assert "inbound by person:telegram:7" in hers
        assert "telegram:8" not in hers


async def test_what_was_refused_is_found_however_much_was_refused_elsewhere(opened: Opened) -> None:
    async with opened() as (gate, owner), gate.client(**ALICE) as alice:
        await talk(gate, owner, "hello")
        held = Denial(at=1, operation="send", principal=OWNER, rule="here", reason="x", caller=MAIN)
        hers = replace(held, principal=person("telegram", "7"), rule="hers", caller=None)
        noise = [replace(held, rule="elsewhere", caller=None) for _ in range(1_000)]
        await change(gate.house.store, *(RecordDenial(denial=one) for one in (held, hers, *noise)))
        (found,) = (await owner.call("sessions.denials", {"key": "main"}))["denials"]
        assert found["rule"] == "here"
        (found,) = (await alice.call("sessions.denials", {}))["denials"]
        assert found["rule"] == "hers"


async def test_what_sessions_sent_each_other_is_listed(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, "hello")
        await client.call("sessions.create", {"key": "agent:helper:main"})
        target = gate.house.key("agent:helper:main")
        one = Exchange(id="x", requester=MAIN, target=target, request="say", created_at=1, max_turns=5)
        await change(gate.house.store, PutExchange(exchange=one), key=MAIN)
        (sent,) = (await client.call("sessions.exchanges", {"key": "main"}))["exchanges"]
        assert (sent["direction"], sent["request"], sent["state"]) == ("sent", "say", "accepted")
        (got,) = (await client.call("sessions.exchanges", {"key": "agent:helper:main"}))["exchanges"]
        assert got["direction"] == "received"


async def test_what_a_tree_of_sessions_sent_is_listed_once(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, "hello")
        store, child = gate.house.store, gate.house.key("agent:main:subagent:one")
        await open_session(store, row=session_row(child, parent=MAIN))
        await client.call("sessions.create", {"key": "agent:helper:main"})
        others = ((MAIN, child), (child, gate.house.key("agent:helper:main")))
        for number, (requester, target) in enumerate(others):
            one = Exchange(
                id=f"x{number}",
                requester=requester,
                target=target,
                request="say",
                created_at=number,
                max_turns=5,
            )
            await change(store, PutExchange(exchange=one), key=requester)
        found = (await client.call("sessions.exchanges", {"key": "main", "tree": True}))["exchanges"]
        assert [one["id"] for one in found] == ["x1", "x0"]
        (own,) = (await client.call("sessions.exchanges", {"key": "main"}))["exchanges"]
        assert own["id"] == "x0"


@pytest.mark.requirement("S7", "S10")
async def test_none_of_it_is_told_of_a_session_that_is_not_the_clients(opened: Opened) -> None:
    async with opened() as (gate, owner), gate.client(**ALICE) as alice:
        await talk(gate, owner, "hello")
        for method in KEYED:
            with pytest.raises(Refused) as others:
                await alice.call(method, {"key": "main"})
            with pytest.raises(Refused) as nobodys:
                await alice.call(method, {"key": "agent:main:nowhere"})
            assert _code(others.value) == _code(nobodys.value)
            with pytest.raises(Refused, match="No session found"):
                await owner.call(method, {"key": "agent:main:nowhere"})
        assert (await alice.call("sessions.ledger", {}))["calls"] == []


async def test_all_of_it_needs_to_read(opened: Opened) -> None:
    async with opened() as (gate, _), gate.client(scopes=["operator.pairing"]) as client:
        for method in KEYED:
            with pytest.raises(Refused, match=r"missing scope: operator\.read"):
                await client.call(method, {"key": "main"})


def _shown(row: dict[str, object]) -> str:
    if row["role"] == "system":
        return f"({row['__openclaw']['kind']})"  # type: ignore[index]
    content = row["content"]
    return content if isinstance(content, str) else str(content[0]["text"])  # type: ignore[index]


def _code(refused: Refused) -> tuple[str, object]:
    return refused.error["code"], refused.error.get("details")
