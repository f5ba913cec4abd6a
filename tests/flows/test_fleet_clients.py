"""Clients of two gateways on one PostgreSQL: what one sent at either, any client finds, waits for and stops at the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from roost.core.messages import UserMessage, text_of
from roost.core.queries import HistoryQuery
from roost.server.gatekeeper import Gatekeeper
from roost.server.house import House
from roost.server.ticking import announce
from roost.testing.scripts import Hang, Say, Until
from roost.testing.wires import Refused
from tests.e2e.edges import Device
from tests.flows.fleets import LONG_S, MAIN, Fleet
from tests.flows.served import SECRET, Gate, gate_of, send
from tests.flows.test_nodes import OWNER_SCOPES, Place, wish

pytestmark = [pytest.mark.timeout(2 * LONG_S), pytest.mark.requirement("P30")]


@asynccontextmanager
async def two_gates(fleet: Fleet, tmp_path: Path) -> AsyncIterator[tuple[Gate, Gate]]:
    """The first takes up runs, the second does not."""
    async with (
        gate_of(fleet.here, tmp_path, "here") as here,
        gate_of(fleet.there, tmp_path, "there") as there,
    ):
        yield here, there


async def test_a_message_that_is_sent_again_to_another_gateway_is_the_same_message(
    fleet: Fleet, tmp_path: Path
) -> None:
    go_on = anyio.Event()
    async with two_gates(fleet, tmp_path) as (here, there), here.client() as first, there.client() as second:
        here.bench.model.add((Until(go_on), Say("Hello.")))
        assert (await first.call("chat.send", send("hi", "one")))["status"] == "started"
        await here.bench.model.asked(1)
        assert (await second.call("chat.send", send("hi", "one")))["status"] == "in_flight"
        go_on.set()
        ended = await second.call("agent.wait", {"runId": "one", "timeoutMs": LONG_S * 1_000})
        assert (ended["status"], ended["terminalReply"]["text"]) == ("ok", "Hello.")
        assert (await second.call("chat.send", send("hi", "one")))["status"] == "ok"
    assert len(here.bench.model.requests) == 1
    assert await said_in_main(there) == ["hi"]


async def test_of_a_message_that_is_sent_to_both_gateways_at_once_one_is_taken(
    fleet: Fleet, tmp_path: Path
) -> None:
    async with two_gates(fleet, tmp_path) as (here, there), here.client() as first, there.client() as second:
        here.bench.model.otherwise = (Say("Hello."),)
        for number in range(5):
            asked = [client.send("chat.send", send("hi", f"m-{number}")) for client in (first, second)]
            answers = [await client.answer(one) for client, one in zip((first, second), asked, strict=True)]
            assert [answer["payload"]["status"] for answer in answers].count("started") == 1
            await second.call("agent.wait", {"runId": f"m-{number}", "timeoutMs": LONG_S * 1_000})
    assert len(here.bench.model.requests) == 5
    assert await said_in_main(there) == ["hi"] * 5


async def said_in_main(gate: Gate) -> list[str]:
    page = await gate.bench.store.history(HistoryQuery(key=MAIN, limit=100))
    return [text_of(entry.body) for entry in page.entries if isinstance(entry.body, UserMessage)]


async def test_a_client_is_told_the_end_of_a_run_at_another_gateway(fleet: Fleet, tmp_path: Path) -> None:
    async with two_gates(fleet, tmp_path) as (here, there), there.client() as client:
        here.bench.model.add((Say("Hello."),))
        await client.call("chat.send", send("hi", "one"))
        final = await client.event("chat", state="final", runId="one")
    assert final["message"]["content"][0]["text"] == "Hello."


@pytest.mark.parametrize(("method", "named"), [("chat.abort", "sessionKey"), ("sessions.abort", "key")])
@pytest.mark.parametrize("by_name", [True, False])
async def test_a_client_aborts_a_run_at_another_gateway(
    fleet: Fleet, tmp_path: Path, method: str, named: str, *, by_name: bool
) -> None:
    async with two_gates(fleet, tmp_path) as (here, there), here.client() as first, there.client() as second:
        here.bench.model.add((Say("Well"), Hang()))
        await first.call("chat.send", send("think", "one"))
        await here.bench.model.asked(1)
        told = await second.call(method, {named: "main", **({"runId": "one"} if by_name else {})})
        aborted = await first.event("chat", state="aborted")
        await here.bench.model.left()
    assert told.get("aborted", told.get("status")) in (True, "aborted")
    assert aborted["runId"] == "one"
    if by_name:
        assert "one" in (told.get("abortedRunId"), *told.get("runIds", ()))


async def test_what_a_client_adds_at_another_gateway_steers_the_run(fleet: Fleet, tmp_path: Path) -> None:
    go_on = anyio.Event()
    async with two_gates(fleet, tmp_path) as (here, there), here.client() as first, there.client() as second:
        here.bench.model.add((Until(go_on), Say("one")), (Say("both"),))
        await first.call("chat.send", send("first", "one"))
        await here.bench.model.asked(1)
        await second.call("chat.send", send("second", "two"))
        go_on.set()
        ended = await first.call("agent.wait", {"runId": "two", "timeoutMs": LONG_S * 1_000})
    assert ended["terminalReply"]["text"] == "both"
    assert "second" in text_of(here.bench.model.requests[-1].messages[-1])


async def test_a_node_of_another_gateway_is_shown_there_and_asked_there(fleet: Fleet, tmp_path: Path) -> None:
    device, keepers = Device(), list[Gatekeeper]()

    def keeping(house: House) -> Gatekeeper:
        keepers.append(Gatekeeper(house, SECRET))
        return keepers[-1]

    async with (
        gate_of(fleet.here, tmp_path, "here", keeping=keeping) as here,
        gate_of(fleet.there, tmp_path, "there", keeping=keeping) as there,
        here.client(scopes=OWNER_SCOPES) as owner,
        there.client(scopes=OWNER_SCOPES) as other,
        anyio.create_task_group() as group,
    ):
        place = Place(here, keepers[0], owner)
        token = await place.pair(device)
        async with place.node(device, token):
            # Clients are told after the other gateways could know.
            group.start_soon(announce, here.house)
            await owner.event("presence")
            (row,) = (await other.call("node.list"))["nodes"]
            assert (row["connected"], row["gateway"], row["commands"]) == (True, "here", [])
            with pytest.raises(Refused, match="connected to gateway here") as refused:
                await other.call("node.invoke", wish(device))
            assert refused.value.error["details"]["code"] == "node_elsewhere"
            (own,) = (await owner.call("node.list"))["nodes"]
            assert (own["connected"], "gateway" in own) == (True, False)
            owner.events.clear()
        await owner.event("presence")
        (row,) = (await other.call("node.list"))["nodes"]
        assert (row["connected"], "gateway" in row) == (False, False)
        with pytest.raises(Refused) as refused:
            await other.call("node.invoke", wish(device))
        assert refused.value.error["details"]["code"] == "node_offline"
        group.cancel_scope.cancel()


async def test_a_gateway_leaves_that_is_asked_by_its_name_and_says_what_it_waits_for(
    fleet: Fleet, tmp_path: Path
) -> None:
    async with two_gates(fleet, tmp_path) as (here, there), here.client() as client, there.client() as other:
        here.bench.model.add((Hang(),))
        await client.call("chat.send", send("think", "one"))
        await here.bench.model.asked(1)
        for wrong, told in (({}, "several gateways"), ({"gateway": "there"}, "this is gateway here")):
            with pytest.raises(Refused, match=told):
                await client.call("gateways.drain", wrong)
        assert not here.house.leaving.is_set()
        leaving = await client.call("gateways.drain", {"gateway": "here"})
        assert (leaving["gateway"], leaving["drainMs"]) == ("here", 8_000)
        assert [(run["key"], run["runId"]) for run in leaving["runs"]] == [(str(MAIN), "one")]
        assert here.house.leaving.is_set()
        assert not there.house.leaving.is_set()
        assert (await other.call("gateways.drain", {"gateway": "there"}))["runs"] == []
