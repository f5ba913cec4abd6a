"""What a node lives through: pairing, lending what it can do, talking in its own sessions, and being sent away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, UserMessage
from roost.core.principals import node
from roost.core.queries import HistoryQuery
from roost.protocol.methods import EVERY
from roost.protocol.scopes import Role
from roost.server.gatekeeper import Gatekeeper
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient, Refused, visiting
from tests.e2e.edges import CLIENT, Device
from tests.flows.served import SECRET, Gate, gates, send

OWNER_SCOPES = ["operator.admin", "operator.read", "operator.write", "operator.pairing"]
ABLE: dict[str, object] = {
    "caps": ["camera"],
    "commands": ["camera.snap", "camera.list"],
    "permissions": {"camera": True, "location": False},
}


class Place:
    """A gateway with its real door, and its owner."""

    def __init__(self, gate: Gate, keeper: Gatekeeper, owner: LocalClient) -> None:
        self.gate = gate
        self.keeper = keeper
        self.owner = owner

    async def ask(
        self, client: LocalClient, device: Device, role: str = "node", **auth: str
    ) -> dict[str, Any]:
        """The answer to `connect` of a device."""
        challenge = await client.event("connect.challenge")
        secret = auth.get("token") or auth.get("deviceToken") or auth.get("bootstrapToken") or ""
        block = device.block(challenge, scopes=["operator.admin"], secret=secret, role=role)
        wanted = {
            "minProtocol": 4,
            "maxProtocol": 4,
            "client": CLIENT,
            "role": role,
            "scopes": ["operator.admin"],
            "auth": auth,
            "device": block,
            **ABLE,
        }
        return await client.answer(client.send("connect", wanted))

    async def knock(self, device: Device, role: str = "node", **auth: str) -> dict[str, Any]:
        async with visiting(self.gate.door) as client:
            return await self.ask(client, device, role, **auth)

    async def pair(self, device: Device, role: str = "node") -> str:
        """Its token."""
        asked = (await self.knock(device, role))["error"]
        assert asked["details"]["code"] == "PAIRING_REQUIRED"
        await self.owner.call("device.pair.approve", {"requestId": asked["details"]["requestId"]})
        return str((await self.knock(device, role))["payload"]["auth"]["deviceToken"])

    @asynccontextmanager
    async def node(self, device: Device, token: str) -> AsyncIterator[LocalClient]:
        async with visiting(self.gate.door) as client:
            answer = await self.ask(client, device, deviceToken=token)
            assert answer["ok"], answer
            client.hello = answer["payload"]
            yield client


@asynccontextmanager
async def places(folder: Path, kind: str = "memory") -> AsyncIterator[Place]:
    keepers: list[Gatekeeper] = []

    def keeping(house: Any) -> Gatekeeper:
        keepers.append(Gatekeeper(house, SECRET))
        return keepers[0]

    with anyio.fail_after(120):
        async with gates(kind, folder, keeping) as gate, gate.client(scopes=OWNER_SCOPES) as owner:
            yield Place(gate, keepers[0], owner)


def wish(device: Device, command: str = "camera.snap", name: str = "w1", **more: object) -> dict[str, object]:
    return {"nodeId": device.id, "command": command, "idempotencyKey": name, **more}


def own_key(device: Device) -> str:
    return f"agent:main:node-{device.id}"


def code_of(refused: pytest.ExceptionInfo[Refused]) -> object:
    return refused.value.error["details"]["code"]


@pytest.mark.requirement("S2", "S21")
async def test_a_node_is_a_device_that_the_owner_approved_and_nothing_else_makes_it_one(
    tmp_path: Path,
) -> None:
    device = Device()
    async with places(tmp_path) as place:
        async with visiting(place.gate.door) as client:
            with pytest.raises(Refused) as refused:
                await client.connect(role="node")
            assert code_of(refused) == "DEVICE_IDENTITY_REQUIRED"
        # Not even the owner's secret: with it a device may ask.
        asked = (await place.knock(device, token="secret-token"))["error"]
        assert asked["details"]["code"] == "PAIRING_REQUIRED"
        assert (asked["details"]["requestedRole"], asked["details"]["requestedScopes"]) == ("node", [])
        wrong = (await place.knock(device, token="guessed"))["error"]
        assert wrong["details"]["code"] == "AUTH_TOKEN_MISMATCH"
        async with visiting(place.gate.door) as client:
            with pytest.raises(Refused, match="no role"):
                await client.connect(role="gardener")


async def test_a_device_has_the_role_that_was_approved(tmp_path: Path) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        as_operator = (await place.knock(device, "operator", deviceToken=token))["error"]
        assert as_operator["details"]["code"] == "AUTH_DEVICE_TOKEN_MISMATCH"
        again = (await place.knock(device, "operator"))["error"]["details"]
        (asked,) = (await place.owner.call("device.pair.list"))["pending"]
        assert (asked["requestId"], asked["role"], asked["isRepair"]) == (
            again["requestId"],
            "operator",
            True,
        )
        # The code of one request does not let it in as something else.
        other = (await place.knock(device, "node", bootstrapToken=asked["code"]))["error"]["details"]
        assert other["code"] == "AUTH_BOOTSTRAP_TOKEN_INVALID"
        listed = await place.owner.call("node.pair.list")
        assert [one["deviceId"] for one in listed["paired"]] == [device.id]
        assert listed["pending"] == []


async def test_a_node_is_listed_with_what_it_can_do_while_it_is_there(tmp_path: Path) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        (away,) = (await place.owner.call("node.list"))["nodes"]
        assert (away["nodeId"], away["connected"], away["commands"]) == (device.id, False, [])
        async with place.node(device, token) as client:
            assert client.hello["auth"] == {"method": "device-token", "role": "node", "scopes": []}
            assert client.hello["features"]["methods"] == ["node.invoke.result", "node.event"]
            assert client.hello["snapshot"]["presence"] == []
            assert client.hello["snapshot"]["sessionDefaults"]["mainSessionKey"] == own_key(device)
            shown = await place.owner.call("node.describe", {"nodeId": device.id})
            assert {name: shown[name] for name in ("connected", "paired", "sessionKey", *ABLE)} == {
                "connected": True,
                "paired": True,
                "sessionKey": own_key(device),
                **ABLE,
            }
            present = [one for one in await place.owner.call("system-presence") if one.get("deviceId")]
            assert [(one["deviceId"], one["roles"], one["commands"]) for one in present] == [
                (device.id, ["node"], ABLE["commands"])
            ]
        with pytest.raises(Refused) as refused:
            await place.owner.call("node.describe", {"nodeId": "nobody"})
        assert code_of(refused) == "not_found"


async def test_a_node_is_asked_and_answers(tmp_path: Path) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        async with place.node(device, token) as client:
            front = wish(device, params={"facing": "front"})
            first = place.owner.send("node.invoke", front)
            asked = await client.event("node.invoke.request")
            assert (asked["command"], asked["nodeId"]) == ("camera.snap", device.id)
            assert (asked["paramsJSON"], asked["idempotencyKey"]) == ('{"facing":"front"}', "w1")
            again = place.owner.send("node.invoke", front)
            answer = {"id": asked["id"], "nodeId": device.id, "ok": True, "payloadJSON": '{"seen":1}'}
            assert await client.call("node.invoke.result", answer) == {"ok": True}
            for request in (first, again):
                assert (await place.owner.answer(request))["payload"] == {
                    "ok": True,
                    "nodeId": device.id,
                    "command": "camera.snap",
                    "payload": {"seen": 1},
                    "payloadJSON": '{"seen":1}',
                }
            # Asked again it is not, neither meanwhile nor afterwards.
            assert (await place.owner.call("node.invoke", front))["payload"] == {"seen": 1}
            assert len(client.told("node.invoke.request")) == 1
            assert await client.call("node.invoke.result", answer) == {"ok": True, "ignored": True}
            plain = place.owner.send("node.invoke", wish(device, name="w2"))
            asked = await client.event("node.invoke.request", idempotencyKey="w2")
            await client.call(
                "node.invoke.result", {"id": asked["id"], "nodeId": device.id, "ok": True, "payload": [1]}
            )
            assert (await place.owner.answer(plain))["payload"]["payload"] == [1]


@pytest.mark.requirement("P3")
async def test_another_request_under_a_known_key_is_refused_not_answered_with_what_the_first_gave(
    tmp_path: Path,
) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        async with place.node(device, token) as client:
            first = place.owner.send("node.invoke", wish(device))
            asked = await client.event("node.invoke.request")

            async def refused() -> None:
                for other in (
                    wish(device, params={"facing": "front"}),
                    wish(device, "door.open"),
                ):
                    with pytest.raises(Refused, match="used before") as error:
                        await place.owner.call("node.invoke", other)
                    assert code_of(error) == "conflict"

            await refused()
            answer = {"id": asked["id"], "nodeId": device.id, "ok": True, "payload": 1}
            await client.call("node.invoke.result", answer)
            assert (await place.owner.answer(first))["payload"]["payload"] == 1
            await refused()
            assert len(client.told("node.invoke.request")) == 1


async def test_a_node_that_is_away_slow_or_fails_gives_an_error_of_its_own(tmp_path: Path) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        with pytest.raises(Refused) as refused:
            await place.owner.call("node.invoke", wish(device))
        assert code_of(refused) == "node_offline"
        async with place.node(device, token) as client:
            with pytest.raises(Refused) as refused:
                await place.owner.call("node.invoke", wish(device, "door.open"))
            assert code_of(refused) == "invalid_input"
            assert client.told("node.invoke.request") == []
            with pytest.raises(Refused) as refused:
                await place.owner.call("node.invoke", wish(device, timeoutMs=1))
            assert code_of(refused) == "node_timeout"
            failing = place.owner.send("node.invoke", wish(device, name="w2"))
            asked = await client.event("node.invoke.request", idempotencyKey="w2")
            error = {"code": "NO_CAMERA", "message": "there is none"}
            await client.call(
                "node.invoke.result", {"id": asked["id"], "nodeId": device.id, "ok": False, "error": error}
            )
            failed = (await place.owner.answer(failing))["error"]
            assert (failed["details"]["code"], failed["message"]) == (
                "node_failed",
                "NO_CAMERA: there is none",
            )
            long = place.owner.send("node.invoke", wish(device, name="w4"))
            asked = await client.event("node.invoke.request", idempotencyKey="w4")
            error = {"message": "no" * 10_000}
            await client.call(
                "node.invoke.result", {"id": asked["id"], "nodeId": device.id, "ok": False, "error": error}
            )
            assert len((await place.owner.answer(long))["error"]["message"]) == 4_000
            leaving = place.owner.send("node.invoke", wish(device, name="w3"))
            await client.event("node.invoke.request", idempotencyKey="w3")
            client.wire.hang_up()
            left = (await place.owner.answer(leaving))["error"]
            assert (left["details"]["code"], left.get("retryable")) == ("node_unknown", None)


@pytest.mark.requirement("D04")
async def test_a_node_talks_in_its_own_session_and_hears_the_answer(tmp_path: Path) -> None:
    device = Device()
    async with places(tmp_path) as place:
        place.gate.bench.model.otherwise = (Say("it is noon"),)
        token = await place.pair(device)
        async with place.node(device, token) as client:
            said = {"message": "what time is it?", "eventId": "e1"}
            taken = await client.call("node.event", {"event": "agent.request", "payload": said})
            assert taken == {
                "ok": True,
                "event": "agent.request",
                "handled": True,
                "runId": "e1",
                "sessionKey": own_key(device),
            }
            final = await client.event("chat", state="final", sessionKey=own_key(device))
            assert final["message"]["content"] == [{"type": "text", "text": "it is noon"}]
            # The same event is taken once, and a session that is the node's may be named.
            named = {**said, "sessionKey": own_key(device)}
            await client.call("node.event", {"event": "agent.request", "payload": named})
            heard = {"text": "and now?", "sessionKey": f"node-{device.id}"}
            await client.call("node.event", {"event": "voice.transcript", "payload": heard})
            assert await client.call("node.event", {"event": "battery.low"}) == {
                "ok": True,
                "event": "battery.low",
                "handled": False,
            }
            await place.owner.event("chat", state="final", sessionKey=own_key(device))
        key = SessionKey.parse(own_key(device))
        session = await place.gate.house.store.session(key)
        assert session is not None
        assert session.owner == node(device.id)
        page = await place.gate.house.store.history(HistoryQuery(key=key, limit=10))
        asked = [entry.body for entry in page.entries if isinstance(entry.body, UserMessage)]
        assert [one.provenance.principal for one in asked[:1]] == [node(device.id)]
        assert all(one.provenance.kind is ProvenanceKind.HUMAN for one in asked)


@pytest.mark.requirement("P8", "S7", "S10", "S17")
async def test_a_node_sees_and_reaches_nothing_but_its_own(tmp_path: Path) -> None:
    device, other = Device(), Device()
    async with places(tmp_path) as place:
        place.gate.bench.model.otherwise = (Say("yes"),)
        tokens = [await place.pair(one) for one in (device, other)]
        async with place.node(device, tokens[0]) as client, place.node(other, tokens[1]) as neighbour:
            await place.owner.call("chat.send", send("for the owner only", "mine"))
            await place.owner.event("chat", state="final", runId="mine")
            said = {"message": "for the other node"}
            await neighbour.call("node.event", {"event": "agent.request", "payload": said})
            await neighbour.event("chat", state="final")
            for name in ("main", "agent:main:main", own_key(other), f"node-{other.id}", "kitchen"):
                aimed = {"message": "let me in", "sessionKey": name}
                with pytest.raises(Refused) as refused:
                    await client.call("node.event", {"event": "agent.request", "payload": aimed})
                assert code_of(refused) == "not_found"
            for method in EVERY:
                if method.role is not Role.NODE:
                    with pytest.raises(Refused) as refused:
                        await client.call(method.name, {})
                    assert code_of(refused) == "WRONG_ROLE"
            for name in ("node.event", "node.invoke.result"):
                with pytest.raises(Refused) as refused:
                    await place.owner.call(name, {})
                assert code_of(refused) == "WRONG_ROLE"
            request = place.owner.send("node.invoke", wish(other, name="w"))
            asked = await neighbour.event("node.invoke.request")
            forged = {"id": asked["id"], "ok": True, "payload": "forged"}
            with pytest.raises(Refused, match="answers for itself"):
                await client.call("node.invoke.result", {**forged, "nodeId": other.id})
            told = await client.call("node.invoke.result", {**forged, "nodeId": device.id})
            assert told == {"ok": True, "ignored": True}
            assert place.owner.answers(request) == []
            # Nothing was told to it, of nobody.
            assert {event["event"] for event in client.events} == {"connect.challenge"}
        page = await place.gate.house.store.history(
            HistoryQuery(key=SessionKey.parse("agent:main:main"), limit=10)
        )
        assert "let me in" not in str(page.entries)


@pytest.mark.requirement("S12")
async def test_a_node_that_is_revoked_is_out_within_a_second(tmp_path: Path) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        async with place.node(device, token) as client, anyio.create_task_group() as group:
            waiting = place.owner.send("node.invoke", wish(device))
            await client.event("node.invoke.request")
            group.start_soon(place.keeper.watch)
            params = {"deviceId": device.id, "role": "node"}
            await place.owner.call("device.token.revoke", params)
            await client.wire.ended.wait()
            assert client.wire.closed == (1008, "credential revoked")
            assert (await place.owner.answer(waiting))["error"]["details"]["code"] == "node_unknown"
            group.cancel_scope.cancel()
        assert (await place.owner.call("node.list"))["nodes"] == []
        again = (await place.knock(device, deviceToken=token))["error"]["details"]
        assert again["code"] == "AUTH_DEVICE_TOKEN_MISMATCH"


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"event": "agent.request"}, "needs a payload"),
        ({"event": "agent.request", "payload": {"message": " "}}, "needs a `message`"),
        ({"event": "voice.transcript", "payloadJSON": "{"}, "not JSON"),
        ({"event": "voice.transcript", "payloadJSON": "[]"}, "needs a payload"),
        ({"event": "agent.request", "payload": {"message": "hi", "eventId": "e" * 513}}, "at most 512"),
    ],
)
async def test_what_says_nothing_or_has_an_endless_name_is_refused(
    tmp_path: Path, params: dict[str, object], match: str
) -> None:
    device = Device()
    async with places(tmp_path) as place:
        token = await place.pair(device)
        async with place.node(device, token) as client:
            with pytest.raises(Refused, match=match):
                await client.call("node.event", params)
