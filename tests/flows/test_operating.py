"""What an operator looks after, through the gateway's door."""

from dataclasses import replace
from pathlib import Path

import pytest

from roost.core.deliveries import Delivery, DeliveryState, Rejected
from roost.core.findings import Finding, Severity
from roost.core.keys import SessionKey
from roost.core.messages import UserMessage, text_of
from roost.core.retention import Cutoffs
from roost.core.sessions import Facts, SessionKind
from roost.ports import Topic, TopicKind
from roost.testing import builders
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient, Refused
from tests.flows.gateways import BOB
from tests.flows.served import Gate, gates, send

KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])
ANY = Topic(TopicKind.DELIVERIES)


async def in_state(gate: Gate, state: DeliveryState) -> Delivery:
    async def look() -> Delivery | None:
        return next(iter(await gate.bench.store.deliveries(state, 1)), None)

    return await gate.bench.store.wait_for(ANY, look)


async def dead_letter(gate: Gate, text: str) -> Delivery:
    """An answer that the channel refused."""
    gate.bench.model.add((Say(text),))
    gate.bench.channel.answer_next(Rejected(error="blocked"))
    await gate.bench.say("hello", BOB)
    return await in_state(gate, DeliveryState.FAILED)


async def talked(client: LocalClient, gate: Gate, text: str, name: str) -> None:
    gate.bench.model.add((Say(text),))
    await client.call("chat.send", send(f"say {text}", name))
    await client.event("chat", state="final", runId=name)


@KINDS
async def test_a_dead_letter_is_shown_sent_again_or_dismissed(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        first = await dead_letter(gate, "one")
        listed = await client.call("deliveries.list", {"state": "failed"})
        assert listed["counts"]["failed"] == 1
        (row,) = listed["deliveries"]
        assert (row["id"], row["text"], row["error"], row["to"]) == (first.id, "one", "blocked", "bob")
        again = await client.call("deliveries.retry", {"id": first.id})
        assert again == {"ok": True, "id": first.id, "state": "intent"}
        assert await gate.bench.replies(BOB) == ("one",)
        second = await dead_letter(gate, "two")
        done = await client.call("deliveries.dismiss", {"id": second.id})
        assert done["state"] == "dismissed"
        left = await client.call("deliveries.list")
        assert left["deliveries"] == []
        for method in ("deliveries.retry", "deliveries.dismiss"):
            with pytest.raises(Refused, match="no delivery"):
                await client.call(method, {"id": "nothing"})
        with pytest.raises(Refused, match="is dismissed, and cannot be decided to be dismissed"):
            await client.call("deliveries.dismiss", {"id": second.id})
        await client.call("deliveries.retry", {"id": second.id})
        assert await gate.bench.replies(BOB, 2) == ("one", "two")


async def test_deliveries_are_for_the_owner(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client(auth={"token": "alice-token"}) as alice:
        letter = await dead_letter(gate, "for bob")
        for method in ("deliveries.list", "deliveries.retry", "deliveries.dismiss"):
            with pytest.raises(Refused, match="for the owner"):
                await alice.call(method, {"id": letter.id})
        assert await gate.bench.store.delivery(letter.id) == letter


async def test_what_an_operator_sees_needs_the_administrator(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client(scopes=["operator.write"]) as client:
        for method in ("deliveries.list", "gateways.list", "security.audit"):
            with pytest.raises(Refused, match="missing scope"):
                await client.call(method)


async def test_gateways_and_findings_are_told(tmp_path: Path) -> None:
    finding = Finding(id="a.b", severity=Severity.WARN, text="open", setting="x", fix="close it")
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        (lease,) = (await client.call("gateways.list"))["gateways"]
        assert (lease["name"], lease["live"]) == ("flow", True)
        assert (await client.call("security.audit"))["findings"] == []
        house = replace(gate.engine.rules.house, audit=lambda let_in: (finding,))
        await gate.engine.reload(replace(gate.engine.rules, house=house))
        found = await client.call("security.audit")
        assert (found["summary"]["warn"], found["findings"][0]["remediation"]) == (1, "close it")


@KINDS
async def test_a_fork_goes_on_from_a_message_and_both_stay(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        for name in ("apple", "pear"):
            await talked(client, gate, name, name)
        rows = (await client.call("chat.history", {"sessionKey": "main"}))["messages"]
        chosen = rows[1]["__openclaw"]["id"]
        forked = await client.call("roost.fork", {"key": "main", "messageId": chosen})
        (mark,) = (await client.call("chat.history", {"sessionKey": forked["key"]}))["messages"]
        assert (mark["__openclaw"]["kind"], mark["__openclaw"]["reason"]) == ("branch", "fork")
        gate.bench.model.add((Say("plum"),))
        await client.call("chat.send", {**send("and now?", "plum"), "sessionKey": forked["key"]})
        await client.event("chat", state="final", runId="plum")
        asked = gate.bench.model.requests[-1].messages
        words = [text_of(one) for one in asked if isinstance(one, UserMessage)]
        assert ("apple" in words[0], any("pear" in one for one in words)) == (True, False)
        assert len((await client.call("chat.history", {"sessionKey": "main"}))["messages"]) == 4
        with pytest.raises(Refused, match="No message found"):
            await client.call("roost.fork", {"key": "main", "messageId": "nothing"})
        with pytest.raises(Refused, match="No message found"):
            await client.call("roost.fork", {"key": "nowhere", "messageId": chosen})


@KINDS
async def test_a_client_forks_before_what_was_said_and_gets_it_back(kind: str, tmp_path: Path) -> None:
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        for name in ("apple", "pear"):
            await talked(client, gate, name, name)
        rows = (await client.call("chat.history", {"sessionKey": "main"}))["messages"]
        first, answer, second = (row["__openclaw"]["id"] for row in rows[:3])
        for said, words, seen in ((second, "pear", ["apple"]), (first, "apple", [])):
            forked = await client.call("sessions.fork", {"sessionKey": "main", "entryId": said})
            assert (set(forked), forked["editorText"]) == ({"sessionKey", "editorText"}, f"say {words}")
            gate.bench.model.add((Say("plum"),))
            name = f"fork-{words}"
            await client.call("chat.send", {**send("and now?", name), "sessionKey": forked["sessionKey"]})
            await client.event("chat", state="final", runId=name)
            asked = gate.bench.model.requests[-1].messages
            heard = [text_of(one) for one in asked if isinstance(one, UserMessage)]
            assert [any(name in one for one in heard) for name in ("apple", "pear")] == [
                name in seen for name in ("apple", "pear")
            ]
        with pytest.raises(Refused, match="not what somebody said"):
            await client.call("sessions.fork", {"sessionKey": "main", "entryId": answer})


@pytest.mark.requirement("P22", "F4")
@KINDS
async def test_what_a_conversation_went_on_from_stays_while_it_is_there(kind: str, tmp_path: Path) -> None:
    report = SessionKey.parse("agent:main:cron:nightly:run:7")
    async with gates(kind, tmp_path) as gate, gate.client() as client:
        bench = gate.bench
        row = builders.session(report, at=bench.clock.now())._replace(facts=Facts(kind=SessionKind.CRON))
        opening = builders.opening(row, "0190aaaa-0000-7000-8000-000000000001")
        await bench.store.change_session(report, lambda snapshot: (opening,))
        drafts = (builders.said("e-1", "report"), builders.answered("e-2", "three disks fail"))
        await bench.store.append(report, drafts)
        forked = await client.call("roost.fork", {"key": str(report), "messageId": "e-2"})
        swept = await bench.store.sweep(Cutoffs(cron_before=bench.clock.now() + 1))
        assert swept.sessions == ()
        with pytest.raises(Refused, match="goes on from what was said") as refused:
            await client.call("sessions.delete", {"key": str(report)})
        assert forked["key"] in str(refused.value)
        bench.model.add((Say("ordered"),))
        await client.call("chat.send", {**send("order them", "n-1"), "sessionKey": forked["key"]})
        await client.event("chat", state="final", runId="n-1")
        assert "three disks fail" in [text_of(one) for one in bench.model.requests[-1].messages]
        for key in (forked["key"], str(report)):
            assert (await client.call("sessions.delete", {"key": key}))["deleted"] is True
