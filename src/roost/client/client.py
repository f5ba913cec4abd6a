"""`roost.Client`: everything a gateway can be asked."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self, TypeVar, cast, overload

import anyio

from roost.ancestry import is_of_agent
from roost.client.errors import Refused
from roost.client.events import Feed, Gap, Listener, Wanted, everything
from roost.client.handshake import Hello, Introduction
from roost.client.line import Absence, Line, Sleep
from roost.client.trust import Trust
from roost.client.turns import Answer, Piece, Turn, waited
from roost.client.wires import Dial, dialing
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.secrets import Secret
from roost.protocol.families.agents import AGENT, WAIT
from roost.protocol.families.chat import SEND
from roost.protocol.frames import ErrorCode
from roost.protocol.method import Method

R = TypeVar("R")

WAIT_MS = 25_000
LOOK_S = 0.5
_BEGUN = ("started", "accepted")


class Client:
    """A connection to a gateway for the length of an `async with` block; it is made anew when it is lost.

    A request that was under way when the connection was lost is asked again if that does no harm, and otherwise raises
    `ConnectionLost`. Listeners hear a `Gap` and read again what they care about.
    """

    def __init__(
        self,
        gateway: str | Dial,
        *,
        token: str | None = None,
        password: str | None = None,
        who: Introduction | None = None,
        trust: Trust | None = None,
        sleep: Sleep = anyio.sleep,
        absence: Absence | None = None,
    ) -> None:
        """`gateway` is its address, `ws://127.0.0.1:18789`; beyond this machine it begins with `wss`, unless `trust`
        says otherwise. `absence` hears when it goes away, and says how long it is tried for."""
        who = who or Introduction(
            token=Secret(token) if token else None, password=Secret(password) if password else None
        )
        self._feed = Feed()
        dial = dialing(gateway, trust or Trust()) if isinstance(gateway, str) else gateway
        self._line = Line(dial, who, self._feed, sleep, absence=absence)
        self._sleep = sleep
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        try:
            await self._group.start(self._line.keep)
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        """What went wrong in the block goes on as it is: the group, which would wrap it, is not told."""
        self._line.close()
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)

    def _welcome(self) -> Hello:
        """Outside of the block nothing would ever be answered."""
        if self._line.hello is None:
            raise InvalidInput(
                "this client has no connection",
                hint="use it within its block: async with Client(…) as client",
            )
        return self._line.hello

    @property
    def hello(self) -> Hello:
        """What the gateway said of itself when it let us in."""
        return self._welcome()

    @overload
    async def call(
        self, method: Method[Any, R], params: JsonObject | None = None, *, begun: bool = False
    ) -> R: ...
    @overload
    async def call(
        self, method: str, params: JsonObject | None = None, *, begun: bool = False
    ) -> JsonValue: ...
    async def call(
        self, method: "Method[Any, R] | str", params: JsonObject | None = None, *, begun: bool = False
    ) -> R | JsonValue:
        """Ask for something, in the spelling of the wire. Raises `Refused` with what the gateway said.

        By a method of `roost.protocol` the answer has its type; by a name it is JSON. What is answered twice, as `agent`,
        is answered when it has ended, or with `begun` when it was taken on.
        """
        name = method if isinstance(method, str) else method.name
        return cast(R, await self._call(name, params or {}, begun=begun))

    async def _call(self, name: str, params: JsonObject, *, begun: bool = False) -> JsonValue:
        self._welcome()
        try:
            return await self._line.call(name, params, begun=begun)
        except Refused as error:
            if error.wire_code == ErrorCode.FORBIDDEN and is_of_agent():
                error.hint = "what an agent starts with `exec` may only read; use the agent's own tools, or ask the person"
            raise

    def events(self, wanted: Wanted = everything) -> AbstractContextManager[Listener]:
        """What the gateway tells from now on: `with client.events() as heard: async for event in heard: ...`."""
        return self._feed.listening(wanted=wanted)

    def chat(
        self, message: str, session: str = "main", *, name: str | None = None, more: JsonObject | None = None
    ) -> AsyncGenerator[Piece, None]:
        """Say something and follow the turn to its `Answer`, which comes last; raises `TurnFailed` if there is none.

        `name` makes it the same message when it is said again; `more` are other parameters of `chat.send`.
        """
        return self._turn(SEND, message, session, name, more)

    def run(
        self, message: str, session: str = "main", *, name: str | None = None, more: JsonObject | None = None
    ) -> AsyncGenerator[Piece, None]:
        """As `chat`, by the method `agent`, to which a chat command is no message; `more` are other parameters of that."""
        return self._turn(AGENT, message, session, name, more)

    async def _turn(
        self, method: Method[Any, Any], message: str, session: str, name: str | None, more: JsonObject | None
    ) -> AsyncGenerator[Piece, None]:
        name = name or str(uuid.uuid4())
        turn = Turn(name)
        with self._feed.listening(wanted=turn.is_told_by) as heard:
            said: JsonObject = {"sessionKey": session, "message": message, "idempotencyKey": name}
            sent = await self._call(method.name, {**said, **(more or {})}, begun=True)
            begun = isinstance(sent, dict) and sent.get("status") in _BEGUN
            turn.session = _key_in(sent)
            if begun:
                async for item in heard:
                    if isinstance(item, Gap):
                        break
                    if not turn.is_told_by(item):
                        continue
                    piece = turn.hear(item)
                    if isinstance(piece, Answer) and piece.text is None:
                        # Nothing was said to it, or it joined another turn, which has not ended yet.
                        break
                    if piece is not None:
                        yield piece
                    if isinstance(piece, Answer):
                        return
        agent = {"agentId": more["agentId"]} if more and "agentId" in more and not turn.session else {}
        yield await self._outcome({"runId": name, "sessionKey": turn.session or session, **agent})

    async def ask(self, message: str, session: str = "main") -> str:
        """Say something; the words of the answer."""
        async for piece in self.chat(message, session):
            if isinstance(piece, Answer):
                return piece.text or ""
        raise AssertionError("a turn ends with an answer")

    async def _outcome(self, named: JsonObject) -> Answer:
        """How a run ended, of which not everything was heard."""
        while True:
            answer = await self.call(WAIT, {**named, "timeoutMs": WAIT_MS})
            ended = waited(answer)
            if ended is not None:
                return ended
            await self._sleep(LOOK_S)


def _key_in(sent: JsonValue) -> str | None:
    """The full key of the session that a message went to."""
    key = sent.get("sessionKey") if isinstance(sent, dict) else None
    return key if isinstance(key, str) else None
