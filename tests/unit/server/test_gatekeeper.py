"""Who comes in, in which order it is judged, and how fast a credential that was taken back is noticed."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from roost.app.reloading import EVERY_MS
from roost.core.devices import Devices, Issuer, PairingRequest, approve
from roost.core.entrance import Attempts, Entrance, ProxyLogin
from roost.core.errors import StoreUnavailable
from roost.core.principals import OWNER
from roost.core.secrets import Secret
from roost.protocol.handshake import Connect, Refusal
from roost.protocol.params import read_params
from roost.protocol.scopes import EVERY
from roost.server.auth import Admitted, Peer, Secrets, SharedSecret
from roost.server.callers import REVOKED, UNCHECKED, Dismissal
from roost.server.gatekeeper import CHECKED_EVERY_MS, UNCHECKED_MS, Gatekeeper
from roost.server.guesses import LONGEST_MS, MOST_OF_ONE, OF_ONE, SLOWED_MS
from roost.server.house import House
from roost.server.strangers import code_of
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from tests.e2e.edges import CLIENT
from tests.e2e.edges import Device as Signing
from tests.flows.served import gates
from tests.unit.protocol.test_handshake import CONNECT
from tests.unit.server.test_clients import connected
from tests.waiting import until_all_wait


class Scene:
    def __init__(self, keeper: Gatekeeper, house: House, clock: FakeClock) -> None:
        self.keeper = keeper
        self.house = house
        self.clock = clock
        self.found: list[Admitted | Refusal] = []

    async def ask(self, token: str, **peer: str) -> Admitted | Refusal:
        connect = read_params("connect", Connect, {**CONNECT, "auth": {"token": token}})  # type: ignore[dict-item]
        found = await self.keeper.admit(connect, Peer(**peer))  # type: ignore[arg-type]
        self.found.append(found)
        return found

    def code(self) -> object:
        found = self.found[-1]
        assert isinstance(found, Refusal)
        assert found.failure is not None
        assert found.failure.details is not None
        return found.failure.details["code"]


@asynccontextmanager
async def scenes(folder: Path) -> AsyncIterator[Scene]:
    with anyio.fail_after(60):
        async with gates("memory", folder) as gate:
            clock = FakeClock()
            gate.house.clock = clock
            rules = gate.engine.rules
            entrance = Entrance(attempts=Attempts(most=2, window_ms=60_000))
            await gate.engine.reload(replace(rules, house=replace(rules.house, entrance=entrance)))
            secret = SharedSecret(lambda: Secrets(token=Secret("right")))
            yield Scene(Gatekeeper(gate.house, secret), gate.house, clock)


@pytest.mark.requirement("S2")
async def test_who_was_wrong_too_often_waits_before_he_is_looked_at(tmp_path: Path) -> None:
    async with scenes(tmp_path) as scene:
        for _ in range(2):
            await scene.ask("wrong", host="10.0.0.1")
            assert scene.code() == "AUTH_TOKEN_MISMATCH"
        assert isinstance(await scene.ask("right", host="10.0.0.2"), Admitted)
        async with anyio.create_task_group() as group:
            for token in ("wrong", "right"):
                group.start_soon(partial(scene.ask, token, host="10.0.0.1"))
            await until_all_wait()
            assert len(scene.found) == 3
            scene.clock.advance(SLOWED_MS)
        assert {type(one) for one in scene.found[3:]} == {Admitted, Refusal}
        scene.found.sort(key=lambda one: isinstance(one, Refusal))
        assert scene.code() in {"AUTH_RATE_LIMITED", "AUTH_TOKEN_MISMATCH"}
        scene.clock.advance(60_000)
        assert isinstance(await scene.ask("right", host="10.0.0.1"), Admitted)


@pytest.mark.requirement("S2")
async def test_who_was_never_wrong_comes_in_at_once_however_many_others_guess(tmp_path: Path) -> None:
    async with scenes(tmp_path) as scene, anyio.create_task_group() as group:
        hosts = [f"2001:db8:0:{number:x}::1" for number in range(40)]
        for host in hosts:
            await scene.ask("wrong", host=host)
        for host in hosts:
            for _ in range(OF_ONE):
                group.start_soon(partial(scene.ask, "wrong", host=host))
        await until_all_wait()
        assert len(scene.found) == len(hosts)
        assert isinstance(await scene.ask("right", host="127.0.0.1"), Admitted)
        group.cancel_scope.cancel()


async def test_who_shows_nothing_has_guessed_nothing(tmp_path: Path) -> None:
    async with scenes(tmp_path) as scene:
        for _ in range(5):
            await scene.ask("", host="10.0.0.1")
            assert scene.code() == "DEVICE_IDENTITY_REQUIRED"


@pytest.mark.requirement("S2")
async def test_the_page_is_judged_before_the_credential(tmp_path: Path) -> None:
    async with scenes(tmp_path) as scene:
        await scene.ask("right", origin="https://evil.example", called="127.0.0.1:1")
        assert scene.code() == "CONTROL_UI_ORIGIN_NOT_ALLOWED"
        assert isinstance(await scene.ask("right", origin="http://localhost:1"), Admitted)


@pytest.mark.requirement("S12")
def test_what_is_taken_back_is_noticed_within_a_second() -> None:
    assert EVERY_MS + CHECKED_EVERY_MS < 1_000


class Out(MemoryStore):
    """A store that cannot be asked for devices."""

    def __init__(self, clock: FakeClock, answer: Callable[[], Awaitable[None]]) -> None:
        super().__init__(clock, clock)
        self._answer = answer
        self.asked = anyio.Event()

    async def devices(self) -> Devices:
        self.asked.set()
        await self._answer()
        return await super().devices()


async def unavailable() -> None:
    raise StoreUnavailable("it is out")


class Watched:
    """A gatekeeper that watches one who has the secret and one who is a device."""

    def __init__(self, house: House, answer: Callable[[], Awaitable[None]]) -> None:
        self.clock = house.clock = FakeClock()
        self.store = house.store = Out(self.clock, answer)
        self.secrets = Secrets(token=Secret("secret-token"))
        self.keeper = Gatekeeper(house, SharedSecret(lambda: self.secrets))
        self.ended: dict[str, Dismissal] = {}
        self._house = house

    async def stay(self, name: str, admitted: Admitted) -> None:
        with self._house.callers.staying(admitted) as stay:
            await anyio.sleep_forever()
        self.ended[name] = stay.why

    async def passes(self, milliseconds: int) -> None:
        """Time, in steps that no pause is longer than."""
        await until_all_wait()
        for _ in range(0, milliseconds, CHECKED_EVERY_MS):
            self.clock.advance(CHECKED_EVERY_MS)
            await until_all_wait()


@asynccontextmanager
async def watched(folder: Path, answer: Callable[[], Awaitable[None]]) -> AsyncIterator[Watched]:
    with anyio.fail_after(60):
        async with gates("memory", folder) as gate:
            scene = Watched(gate.house, answer)
            owner = await Scene(scene.keeper, gate.house, scene.clock).ask("secret-token")
            assert isinstance(owner, Admitted)
            device = replace(owner, method="device-token", device="d-1", proof="p")
            async with anyio.create_task_group() as group:
                group.start_soon(scene.stay, "secret", owner)
                group.start_soon(scene.stay, "device", device)
                group.start_soon(scene.keeper.watch)
                yield scene
                group.cancel_scope.cancel()


@pytest.mark.requirement("S12")
@pytest.mark.parametrize("answer", [unavailable, anyio.sleep_forever], ids=["refuses", "hangs"])
async def test_while_the_store_is_out_a_device_is_believed_for_a_while_and_a_secret_is_taken_back_at_once(
    answer: Callable[[], Awaitable[None]], tmp_path: Path
) -> None:
    async with watched(tmp_path, answer) as scene:
        await scene.passes(UNCHECKED_MS // 2)
        assert scene.store.asked.is_set()
        assert scene.ended == {}
        scene.secrets = Secrets(token=Secret("another"))
        await scene.passes(CHECKED_EVERY_MS)
        assert scene.ended == {"secret": REVOKED}
        await scene.passes(UNCHECKED_MS // 2 + CHECKED_EVERY_MS)
        assert scene.ended == {"secret": REVOKED, "device": UNCHECKED}
        assert UNCHECKED.reason == "the gateway cannot check credentials now; come again"
        assert UNCHECKED.close != REVOKED.close


@pytest.mark.requirement("S12")
async def test_a_store_that_answers_again_says_at_once_who_was_taken_back(tmp_path: Path) -> None:
    out = True

    async def for_a_while() -> None:
        if out:
            await unavailable()

    async with watched(tmp_path, for_a_while) as scene:
        await scene.passes(UNCHECKED_MS // 2)
        assert scene.ended == {}
        out = False
        await scene.passes(CHECKED_EVERY_MS)
        assert scene.ended == {"device": REVOKED}


async def test_who_comes_in_while_the_store_is_asked_is_judged_by_its_next_answer(tmp_path: Path) -> None:
    answered = anyio.Event()
    async with watched(tmp_path, answered.wait) as scene, anyio.create_task_group() as group:
        await scene.passes(CHECKED_EVERY_MS)
        late = Admitted(principal=OWNER, method="device-token", scopes=(), device="d-2", proof="p")
        group.start_soon(scene.stay, "late", late)
        await until_all_wait()
        answered.set()
        await until_all_wait()
        assert scene.ended == {"device": REVOKED}
        await scene.passes(CHECKED_EVERY_MS)
        assert scene.ended == {"device": REVOKED, "late": REVOKED}


@pytest.mark.requirement("S2")
async def test_a_crowd_from_one_place_does_not_stand_in_the_way_of_another(tmp_path: Path) -> None:
    async with scenes(tmp_path) as scene:
        for host in ("10.0.0.1", "10.0.0.2") * 2:
            await scene.ask("wrong", host=host)
        scene.found.clear()
        async with anyio.create_task_group() as group:
            for number in range(MOST_OF_ONE + 30):
                group.start_soon(partial(scene.ask, f"wrong-{number}", host="10.0.0.1"))
            await until_all_wait()
            assert len(scene.found) == 30
            assert scene.code() == "AUTH_CROWDED"
            group.start_soon(partial(scene.ask, "right", host="10.0.0.2"))
            await until_all_wait()
            scene.clock.advance(SLOWED_MS)
            await until_all_wait()
            scene.clock.advance(LONGEST_MS)
            await until_all_wait()
            scene.clock.advance(SLOWED_MS)
        told = Counter("in" if isinstance(one, Admitted) else code_of(one) for one in scene.found)
        assert told["in"] == 1
        assert told["AUTH_RATE_LIMITED"] <= 3 * OF_ONE
        async with anyio.create_task_group() as group:
            group.start_soon(partial(scene.ask, "right", host="10.0.0.1"))
            await until_all_wait()
            scene.clock.advance(SLOWED_MS)
        assert isinstance(scene.found[-1], Admitted)


OWNERS = Secrets(token=Secret("right"))
BY_PROXY = Secrets(login=ProxyLogin(proxies=("127.0.0.1",), header="x-user", owners=frozenset({"ada"})))


class NodesDoor:
    """Where one node comes; `own` is what it shows each time."""

    def __init__(self, house: House, secrets: Secrets, peer: Peer, own: dict[str, str]) -> None:
        self.house = house
        self.device = Signing()
        self._keeper = Gatekeeper(house, SharedSecret(lambda: secrets))
        self._peer = replace(peer, nonce="n")
        self._own = own

    async def come(self, **auth: str) -> Admitted | Refusal:
        shown = {**self._own, **auth}
        challenge = {"ts": self.house.clock.now(), "nonce": "n"}
        block = self.device.block(challenge, scopes=[], secret=next(iter(shown.values()), ""), role="node")
        told = {**CONNECT, "client": CLIENT, "role": "node", "auth": shown, "device": block}
        return await self._keeper.admit(read_params("connect", Connect, told), self._peer)  # type: ignore[arg-type]

    async def asks(self) -> PairingRequest:
        assert isinstance(await self.come(), Refusal)
        (request,) = (await self.house.store.devices()).pending
        return request


LETS_IN = pytest.mark.parametrize(
    ("secrets", "peer", "own"),
    [
        pytest.param(OWNERS, Peer(), {}, id="nothing else"),
        pytest.param(OWNERS, Peer(), {"token": "right"}, id="the owner's token"),
        pytest.param(Secrets(open=True), Peer(), {}, id="an open door"),
        pytest.param(BY_PROXY, Peer(user="ada"), {}, id="a proxy"),
    ],
)


@LETS_IN
async def test_a_paired_node_comes_with_its_token_again_whatever_lets_others_in(
    secrets: Secrets, peer: Peer, own: dict[str, str], tmp_path: Path
) -> None:
    async with gates("memory", tmp_path) as gate:
        door = NodesDoor(gate.house, secrets, peer, own)
        request, owner = await door.asks(), Issuer(principal=OWNER, scopes=EVERY)
        now = gate.house.clock.now()
        await gate.house.store.change_devices(lambda known: approve(known, request.id, owner, now))
        first = await door.come()
        assert isinstance(first, Admitted)
        assert first.issued is not None
        again = await door.come(deviceToken=first.issued.token)
        assert isinstance(again, Admitted)
        assert (again.device, again.issued) == (door.device.id, None)
        assert isinstance(await door.come(deviceToken="another"), Refusal)


@LETS_IN
async def test_a_node_is_paired_by_its_code_whatever_lets_others_in(
    secrets: Secrets, peer: Peer, own: dict[str, str], tmp_path: Path
) -> None:
    async with gates("memory", tmp_path) as gate:
        door = NodesDoor(gate.house, secrets, peer, own)
        request = await door.asks()
        assert isinstance(await door.come(bootstrapToken="another"), Refusal)
        assert isinstance(await door.come(bootstrapToken=request.code), Admitted)


@pytest.mark.requirement("S12")
async def test_who_is_seen_out_is_sent_nothing_more_once_his_credential_is_taken_back(tmp_path: Path) -> None:
    async with scenes(tmp_path) as scene, anyio.create_task_group() as group:
        leaving = connected("leaving")
        leaving.outgoing.put(b"what he did not read")
        leaving.outgoing.close(1012, "service restart")
        scene.house.clients.add(leaving)
        group.start_soon(scene.keeper.watch)
        await until_all_wait()
        scene.clock.advance(CHECKED_EVERY_MS)
        await until_all_wait()
        assert await leaving.outgoing.next() is None
        group.cancel_scope.cancel()
