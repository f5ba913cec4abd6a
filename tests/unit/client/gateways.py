"""A gateway that answers as it is told to, for clients in the same process."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from roost.client.memory import FarEnd, ends
from roost.client.wires import Wire

HELLO = {
    "type": "hello-ok",
    "server": {"version": "1", "bootId": "b"},
    "features": {"methods": ["health"]},
    "snapshot": {"sessionDefaults": {"mainSessionKey": "agent:main:main"}},
    "auth": {"scopes": ["operator.read"]},
}

Reply = Callable[[dict[str, Any]], Any]


class Refusal(Exception):
    """Raised by a reply: the request is refused with this."""

    def __init__(self, **error: object) -> None:
        super().__init__(str(error))
        self.error = error


class FakeGateway:
    """`replies` say what a method is answered with; `asked` is everything that was. `refusals` are raised by dialling."""

    def __init__(self, **replies: Reply) -> None:
        self.replies: dict[str, Reply] = {"connect": lambda params: HELLO}
        self.replies |= {name.replace("_", "."): reply for name, reply in replies.items()}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refusals: list[Exception] = []
        self.dialled = 0
        self.slept: list[float] = []
        self._far: FarEnd | None = None

    @asynccontextmanager
    async def dial(self) -> AsyncIterator[Wire]:
        self.dialled += 1
        if self.refusals:
            raise self.refusals.pop(0)
        near, far = ends()
        failed: Exception | None = None
        self._far = far
        async with anyio.create_task_group() as group:
            group.start_soon(self._attend, far)
            try:
                yield near
            except Exception as error:  # noqa: BLE001 — the tasks beside it do not wrap it
                failed = error
            finally:
                near.drop()
                far.drop()
                group.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await anyio.lowlevel.checkpoint()

    async def tell(self, name: str, payload: object, seq: int | None = None) -> None:
        frame = {"type": "event", "event": name, "payload": payload}
        await self._send(frame if seq is None else {**frame, "seq": seq})

    def hang_up(self) -> None:
        assert self._far is not None
        self._far.hang_up()

    def count(self, method: str) -> int:
        return sum(name == method for name, _ in self.asked)

    async def _send(self, frame: object) -> None:
        assert self._far is not None
        await self._far.send(json.dumps(frame).encode())

    async def _attend(self, far: FarEnd) -> None:
        await self._send({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n"}})
        while (text := await far.receive()) is not None:
            frame = json.loads(text)
            self.asked.append((frame["method"], frame["params"]))
            reply = self.replies.get(frame["method"])
            if reply is None:
                continue
            try:
                answer = {"ok": True, "payload": reply(frame["params"])}
            except Refusal as refusal:
                answer = {"ok": False, "error": refusal.error}
            await far.send(json.dumps({"type": "res", "id": frame["id"], **answer}).encode())
