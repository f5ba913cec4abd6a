"""Credentials that are known by their form alone: whoever reads a session is told them masked, at every door."""

import anyio
import pytest

from roost.core.deliveries import Rejected
from roost.core.redaction import mask
from roost.testing.scripts import Say, Until
from roost.testing.wires import Refused
from tests.credentials import mixed
from tests.flows.served import Opened, send
from tests.flows.test_jobs import DAILY

SECRET = "ghp_" + mixed(36)


@pytest.mark.requirement("P24")
async def test_a_credential_in_an_answer_is_masked_while_it_is_said_and_afterwards(opened: Opened) -> None:
    async with opened() as (gate, client), gate.client(scopes=["operator.read"]) as reader:
        on = anyio.Event()
        gate.bench.model.add((Say(f"it is {SECRET[:12]}"), Say(f"{SECRET[12:]} he"), Until(on), Say("re")))
        await client.call("chat.send", send("which is it?", "run-1"))
        for one in (client, reader):
            await one.event("chat", state="delta", deltaText=f"{mask(SECRET)} he")
        now = await reader.call("chat.history", {"sessionKey": "main"})
        assert now["inFlightRun"]["text"] == f"it is {mask(SECRET)} he"
        on.set()
        for one in (client, reader):
            final = await one.event("chat", state="final")
            assert final["message"]["content"][0]["text"] == f"it is {mask(SECRET)} here"
        waited = await client.call("agent.wait", {"runId": "run-1"})
        assert waited["terminalReply"]["text"] == f"it is {mask(SECRET)} here"
        past = await reader.call("chat.history", {"sessionKey": "main"})
        assert past["messages"][-1]["content"][0]["text"] == f"it is {mask(SECRET)} here"
        told = repr([client.events, reader.events])
        assert SECRET[8:-4] not in told
        assert told.count(mask(SECRET)) > 8


@pytest.mark.requirement("P24")
async def test_who_waits_for_an_answer_is_told_it_as_its_readers_are(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say(f"it is {SECRET}"),))
        await client.call("agent", send("which is it?", "run-1"))
        await client.event("chat", state="final")
        again = await client.call("agent", send("which is it?", "run-1"))
        assert again["result"]["payloads"] == [{"text": f"it is {mask(SECRET)}", "mediaUrl": None}]
        await client.call("chat.inject", {"sessionKey": "main", "message": f"by hand {SECRET}"})
        await client.event("chat", state="final", seq=0)
        assert SECRET not in repr(client.events)


@pytest.mark.requirement("P24")
async def test_what_came_of_a_job_is_told_without_the_credential_in_it(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say(f"it is {SECRET} for now"),))
        job = await client.call("cron.add", DAILY)
        await client.call("cron.run", {"id": job["id"]})
        told = await client.event("cron", action="finished")
        assert told["summary"] == f"it is {mask(SECRET)} for now"
        (row,) = (await client.call("cron.runs", {"id": job["id"]}))["entries"]
        assert row["summary"] == told["summary"]


@pytest.mark.requirement("P24")
async def test_why_a_message_did_not_arrive_is_told_without_the_credential_in_it(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.channel.answer_next(Rejected(error=f"no access with {SECRET}"))
        with pytest.raises(Refused, match=f"no access with {mask(SECRET)}"):
            await client.call("send", {"to": "bob", "message": "hello", "idempotencyKey": "1"})
        (row,) = (await client.call("deliveries.list"))["deliveries"]
        assert row["error"] == f"no access with {mask(SECRET)}"
