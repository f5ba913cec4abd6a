"""One connection that is open: requests go out, answers find who asked, events are passed on."""

from collections.abc import Callable

import anyio

from roost.client import frames
from roost.client.errors import ConnectionLost
from roost.client.events import Event
from roost.client.frames import Response
from roost.client.wires import Wire
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.agents import AGENT

LOST = "the connection to the gateway was lost"


class _Waiting:
    """One who waits for the answer to a request."""

    def __init__(self, *, to_the_end: bool) -> None:
        self.to_the_end = to_the_end
        self._answered = anyio.Event()
        self._response: Response | None = None

    def settle(self, response: Response) -> None:
        self._response = response
        self._answered.set()

    def give_up(self) -> None:
        """None will come; one that has come is still the answer."""
        self._answered.set()

    async def result(self) -> JsonValue:
        await self._answered.wait()
        if self._response is None:
            raise ConnectionLost(LOST)
        if self._response.refusal is not None:
            raise self._response.refusal
        return self._response.payload


class Link:
    def __init__(self, wire: Wire, heard: Callable[[Event], None]) -> None:
        self._wire = wire
        self._heard = heard
        self._waiting: dict[str, _Waiting] = {}
        self._asked = 0
        self._over = False

    async def listen(self) -> None:
        """Until the gateway has gone. Who waits then waits in vain, and is told so."""
        try:
            while (text := await self._wire.receive()) is not None:
                self._take(text)
        finally:
            self._over = True
            for waiting in self._waiting.values():
                waiting.give_up()

    async def call(self, method: str, params: JsonObject, *, begun: bool = False) -> JsonValue:
        """The answer, and of several the last, or the first if it is enough that it has `begun`. Raises `Refused` or
        `ConnectionLost`."""
        if self._over:
            raise ConnectionLost(LOST)
        self._asked += 1
        request_id, waiting = str(self._asked), _Waiting(to_the_end=method == AGENT.name and not begun)
        self._waiting[request_id] = waiting
        try:
            await self._wire.send(frames.request(request_id, method, params))
            return await waiting.result()
        finally:
            del self._waiting[request_id]

    def _take(self, text: str | bytes) -> None:
        match frames.read(text):
            case Event() as event:
                self._heard(event)
            case Response() as response:
                waiting = self._waiting.get(response.id)
                if waiting is not None and not (waiting.to_the_end and response.is_preliminary):
                    waiting.settle(response)
            case _:
                return
