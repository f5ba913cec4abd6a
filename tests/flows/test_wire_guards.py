"""The table of guards at the doors of clients: every method, by whose the session is that it names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.keys import SessionKey
from roost.core.principals import OWNER, Principal
from roost.core.visibility import Operation
from roost.protocol.methods import METHODS
from roost.testing import builders
from roost.testing.scripts import Say
from roost.testing.wires import Refused
from tests.contract.homes import EXCLUSIVE
from tests.contract.scenes import known
from tests.flows.guards import NOWHERE, plant
from tests.flows.served import PEOPLE, Gate, gates
from tests.flows.test_guards import TABLE
from tests.flows.wiredoors import (
    OF_NODES,
    OF_THE_CALLER,
    OWNERS,
    RPC_DOORS,
    RPC_VIEWS,
    SHOWING_SOME,
    TOUCHING_NO_SESSION,
    RpcDoor,
)
from tests.scale import FULL

CLIENTS: dict[str, Principal] = {
    "secret-token": OWNER,
    "bob-token": PEOPLE["bob-token"],
    "carol-token": PEOPLE["carol-token"],
}
EVERY_SCOPE = [
    "operator.admin",
    "operator.read",
    "operator.write",
    "operator.pairing",
    "operator.tools.sessions",
]


@asynccontextmanager
async def planted(kind: str, folder: Path) -> AsyncIterator[Gate]:
    with anyio.fail_after(120):
        async with gates(kind, folder) as gate:
            rules = gate.engine.rules
            commands = replace(rules.commands, agents=("main", "ops", "closed"))
            await gate.engine.reload(replace(rules, commands=commands))
            gate.bench.model.otherwise = (Say("yes"),)
            await plant(gate.house.store)
            yield gate


def of(token: str) -> dict[str, object]:
    return {"auth": {"token": token}, "scopes": EVERY_SCOPE}


async def theirs(gate: Gate, principal: Principal) -> set[SessionKey]:
    """What a caller may see, as it is promised: the owner all, everybody else what is theirs."""
    if principal.is_owner:
        return set(TABLE)
    return {key for key in TABLE if (await known(gate.house.store, key)).owner == principal}


@pytest.mark.requirement("P8", "S17")
def test_every_method_is_in_the_table() -> None:
    doors = {one.method for one in RPC_DOORS} | {one.method for one in RPC_VIEWS}
    of_none = OF_THE_CALLER | OF_NODES | TOUCHING_NO_SESSION
    assert METHODS.keys() == doors | SHOWING_SOME | OWNERS | of_none
    beyond_tools = {Operation.SPAWN, Operation.EXPORT}
    assert {one.operation for one in RPC_DOORS} == set(Operation) - beyond_tools


@pytest.mark.requirement("P2", "P8", "S7", "S10", "S17", "S20", "F5")
@pytest.mark.parametrize("kind", EXCLUSIVE if FULL else ("memory",))
@pytest.mark.parametrize("token", CLIENTS)
@pytest.mark.parametrize("door", RPC_DOORS, ids=lambda door: door.name)
async def test_a_client_may_do_to_sessions_what_is_promised(
    door: RpcDoor, token: str, kind: str, tmp_path: Path
) -> None:
    async with planted(kind, tmp_path) as gate, gate.client(**of(token)) as client:
        store, own = gate.house.store, await theirs(gate, CLIENTS[token])
        before = {key: await known(store, key) for key in TABLE - own}
        for key in before:
            refused = await door.probe(client, key)
            assert refused == await door.probe(client, NOWHERE), key
            assert not refused.allowed, key
            assert "canary" not in refused.words
        for key in own:
            answer = await door.probe(client, key)
            assert answer.allowed, (key, answer.words)
        assert {key: await known(store, key) for key in before} == before


@pytest.mark.requirement("P2", "P8", "S20", "F5")
@pytest.mark.parametrize("kind", EXCLUSIVE)
@pytest.mark.parametrize("token", CLIENTS)
async def test_a_client_is_shown_what_is_promised(token: str, kind: str, tmp_path: Path) -> None:
    async with planted(kind, tmp_path) as gate, gate.client(**of(token)) as client:
        own = {str(key) for key in await theirs(gate, CLIENTS[token])}
        for view in RPC_VIEWS:
            assert await view.shown(client) == own, view.method
        status = (await client.call("status"))["sessions"]
        assert {row["key"] for row in status["recent"]} <= own
        assert (status["count"], len(status["recent"])) == (len(own), min(5, len(own)))
        counted = await client.call("sessions.list", {"limit": 1})
        assert counted["totalCount"] == len(own)


@pytest.mark.requirement("P8", "F5")
@pytest.mark.parametrize("method", sorted(OWNERS))
async def test_what_is_about_everybody_is_for_the_owner(method: str, tmp_path: Path) -> None:
    async with planted("memory", tmp_path) as gate, gate.client(**of("bob-token")) as bob:
        with pytest.raises(Refused, match="for the owner of the gateway"):
            await bob.call(method, {"whatever": "it says"})
        async with gate.browser("bob-token") as http:
            assert (await http.get("/metrics")).status_code == 403


# -- what is told without being asked for ------------------------------------------------------------


@pytest.mark.requirement("P2", "P8", "F5")
@pytest.mark.parametrize("kind", EXCLUSIVE)
@pytest.mark.parametrize("token", CLIENTS)
async def test_a_client_is_told_of_what_is_theirs_and_of_nothing_else(
    token: str, kind: str, tmp_path: Path
) -> None:
    async with planted(kind, tmp_path) as gate, gate.client(**of(token), caps=["tool-events"]) as client:
        own = await theirs(gate, CLIENTS[token])
        last = max(own, key=str)
        await client.call("sessions.subscribe", {})
        for key in TABLE:
            try:
                await client.call("sessions.messages.subscribe", {"key": str(key)})
            except Refused:
                assert key not in own
        async with gate.client() as owner:
            # A run and a line in every session, theirs last.
            for key in (*(TABLE - {last}), last):
                said = {"sessionKey": str(key), "message": "hello", "idempotencyKey": f"to {key}"}
                await owner.call("chat.send", said)
                await owner.event("chat", state="final", sessionKey=str(key))
                await gate.house.store.append(key, (builders.said(f"more-{key}", "canary"),))
            await client.event("session.message", messageId=f"more-{last}")
        told = {event["payload"].get("sessionKey") for event in client.events} - {None}
        assert told == {str(key) for key in own}
        for event in client.events:
            named = {str(key) for key in TABLE - own if str(key) in str(event["payload"])}
            assert not named, event
