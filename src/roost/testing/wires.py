"""A client in the same process: the door of a gateway without a socket."""

import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from roost.server.auth import Peer
from roost.server.socket import Door

ALL_SCOPES = ("operator.admin", "operator.read", "operator.write")
ENDS = frozenset({"final", "aborted", "error"})


class LocalWire:
    """Two ends in memory; the gateway has this one."""

    def __init__(self) -> None:
        self.to_gateway, self._incoming = anyio.create_memory_object_stream[str | bytes](math.inf)
        self._outgoing, self.from_gateway = anyio.create_memory_object_stream[bytes](math.inf)
        self.closed: tuple[int, str] | None = None
        self.ended = anyio.Event()

    async def receive(self) -> str | bytes | None:
        try:
            return await self._incoming.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return None

    def take(self, frames: Sequence[bytes]) -> bool:
        return False

    async def send(self, frame: bytes) -> None:
        await self._outgoing.send(frame)

    async def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)
        self._outgoing.close()
        self.ended.set()

    def ask(self, method: str, params: object = None, request_id: str = "1") -> None:
        """The client sends a request."""
        frame: dict[str, object] = {"type": "req", "id": request_id, "method": method}
        if params is not None:
            frame["params"] = params
        self.to_gateway.send_nowait(json.dumps(frame))

    def hang_up(self) -> None:
        """The client goes."""
        self.to_gateway.close()

    def leave(self) -> None:
        """The gateway has left; what it sent can still be read."""
        self._incoming.close()
        self._outgoing.close()


class Refused(Exception):
    """A request that was not done; `error` is what the client was told."""

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(str(frame["error"]))
        self.error: dict[str, Any] = frame["error"]
        self.payload = frame.get("payload")


class LocalClient:
    """Speaks the protocol over a wire. `events` is all that was told so far."""

    def __init__(self, wire: LocalWire) -> None:
        self.wire = wire
        self.events: list[dict[str, Any]] = []
        self.hello: dict[str, Any] = {}
        self._answers: dict[str, list[dict[str, Any]]] = {}
        self._news = anyio.Event()
        self._asked = 0

    async def listen(self) -> None:
        """Take what comes until the gateway closes."""
        async for data in self.wire.from_gateway:
            frame = json.loads(data)
            if frame["type"] == "event":
                self.events.append(frame)
            else:
                self._answers.setdefault(frame["id"], []).append(frame)
            self._news.set()
            self._news = anyio.Event()

    def send(self, method: str, params: object = None) -> str:
        """Ask for something without waiting; the id of the request."""
        self._asked += 1
        self.wire.ask(method, params, f"r{self._asked}")
        return f"r{self._asked}"

    async def answer(self, request_id: str, number: int = 1) -> dict[str, Any]:
        """The answer to a request, or a later one of several."""
        while len(self._answers.get(request_id, ())) < number:
            await self._news.wait()
        return self._answers[request_id][number - 1]

    def answers(self, request_id: str) -> list[dict[str, Any]]:
        """What has been answered to a request so far."""
        return list(self._answers.get(request_id, ()))

    async def call(self, method: str, params: object = None, *, number: int = 1) -> Any:
        """What was answered; raises `Refused`."""
        frame = await self.answer(self.send(method, params), number)
        if not frame["ok"]:
            raise Refused(frame)
        return frame.get("payload")

    async def connect(self, **changes: object) -> None:
        params = {
            "minProtocol": 4,
            "maxProtocol": 4,
            "client": {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"},
            "scopes": list(ALL_SCOPES),
            "auth": {"token": "secret-token"},
            **changes,
        }
        self.hello = await self.call("connect", params)

    def told(self, name: str, **payload: object) -> list[dict[str, Any]]:
        """The payloads of events of a name in which these values stand."""
        return [
            event["payload"]
            for event in self.events
            if event["event"] == name and payload.items() <= event["payload"].items()
        ]

    async def event(self, name: str, **payload: object) -> dict[str, Any]:
        """The first such event, when it comes."""
        while not (found := self.told(name, **payload)):
            await self._news.wait()
        return found[0]

    def ends(self, run: str) -> list[str]:
        """The ways in which a turn was told to have ended: one, once it has."""
        return [one["state"] for one in self.told("chat", runId=run) if one["state"] in ENDS]

    async def ended(self, *runs: str) -> None:
        """Once of each it was told that it has."""
        while not all(map(self.ends, runs)):
            await self._news.wait()


@asynccontextmanager
async def visiting(door: Door, peer: Peer | None = None) -> AsyncIterator[LocalClient]:
    """A client at the door of a gateway; it has not said anything yet."""
    wire = LocalWire()
    client = LocalClient(wire)

    async def attended() -> None:
        await door.attend(wire, peer or Peer())
        wire.leave()

    async with anyio.create_task_group() as group:
        group.start_soon(attended)
        group.start_soon(client.listen)
        try:
            yield client
        finally:
            wire.hang_up()
    wire.from_gateway.close()
