"""One WebSocket: its handshake, the requests that come in, the frames that go out."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup

from roost.core.entrance import throttled_by
from roost.core.nodes import Declared
from roost.protocol.connection import Action, Ask, Close, Connection, Nothing, Send, Serve
from roost.protocol.connection import Phase as ConnectionPhase
from roost.protocol.frames import ErrorCode, Failure, Request
from roost.protocol.handshake import (
    RESTARTS,
    SERVICE_RESTART,
    STARTING,
    TRY_AGAIN,
    Connect,
    Refusal,
    Welcome,
    hello,
)
from roost.protocol.traces import trace_of
from roost.server.auth import Admitted, Authenticator, Peer
from roost.server.calls import Call, Table, serve
from roost.server.clients import Connected, Outgoing
from roost.server.fanout import Fanout
from roost.server.house import House, Phase
from roost.server.snapshots import offer, snapshot
from roost.server.strangers import code_of
from roost.server.waiting import WaitingRoom

HANDSHAKE_MS = 15_000
AT_ONCE = 256
"""Requests of one client that may be unanswered at the same time, those that wait for a run included."""
BUSY = Failure(
    code=ErrorCode.UNAVAILABLE, message="too many requests are unanswered; retry shortly", retryable=True
)
LATE = 1008
GIVEN_UP_S = 1

LetIn: TypeAlias = Callable[[], None]
"""Called for who comes in."""


class Wire(Protocol):
    """A WebSocket that is open."""

    async def receive(self) -> str | bytes | None:
        """The next message; None once the other side has gone."""
        ...

    def take(self, frames: Sequence[bytes]) -> bool:
        """Send them now, if nothing that was sent before waits for the other side."""
        ...

    async def send(self, frame: bytes) -> None: ...
    async def close(self, code: int, reason: str) -> None: ...


class Door:
    """Lets clients in and works for those who are."""

    def __init__(self, house: House, fanout: Fanout, authenticator: Authenticator, table: Table) -> None:
        self._house = house
        self._fanout = fanout
        self._authenticator = authenticator
        self._table = table
        self._room = WaitingRoom()

    async def attend(self, wire: Wire, peer: Peer, let_in: LetIn | None = None) -> None:
        """Until either side has gone."""
        visit = _Visit(self._house, wire, peer, let_in)
        if not self._room.enter(visit):
            await wire.close(TRY_AGAIN, "too many connections; retry shortly")
            return
        async with anyio.create_task_group() as group:
            group.start_soon(visit.write, group.cancel_scope)
            group.start_soon(visit.give_up, group.cancel_scope)
            try:
                await self._listen(visit, group)
            finally:
                self._room.leave(visit)
                if visit.client is not None:
                    self._leave(visit.client)
                group.cancel_scope.cancel()

    async def _listen(self, visit: "_Visit", group: TaskGroup) -> None:
        visit.outgoing.put(visit.connection.open())
        group.start_soon(self._hurry, visit)
        while (text := await visit.wire.receive()) is not None:
            action = visit.connection.receive(text)
            if isinstance(action, Serve) and visit.client is not None:
                trace = trace_of(action.request.traceparent)
                call = Call(house=self._house, client=visit.client, id=action.request.id, trace=trace)
                if visit.under_way < AT_ONCE:
                    visit.under_way += 1
                    group.start_soon(self._work, visit, call, action.request)
                else:
                    # Not kept waiting: who is not read from can neither stop anything nor be seen to leave.
                    call.refuse(BUSY)
            else:
                await self._act(visit, action)

    async def _work(self, visit: "_Visit", call: Call, request: Request) -> None:
        try:
            await serve(self._table, call, request)
        finally:
            visit.under_way -= 1

    async def _hurry(self, visit: "_Visit") -> None:
        await self._house.clock.sleep(HANDSHAKE_MS)
        if visit.client is None:
            visit.outgoing.close(LATE, "handshake timeout")

    async def _act(self, visit: "_Visit", action: Action) -> None:
        match action:
            case Send(frame=frame):
                visit.outgoing.put(frame)
            case Close() as close:
                visit.end(close)
            case Ask(connect=connect):
                await self._answer(visit, connect)
            case Nothing() | Serve():
                pass

    async def _admitted(self, visit: "_Visit", connect: Connect) -> Admitted | Refusal:
        if not self._serves():
            return STARTING
        peer = replace(visit.peer, nonce=visit.connection.nonce)
        admitted = await self._authenticator.admit(connect, peer)
        # Who came in after the goodbye would hear none; but a token that was given is given once.
        given = isinstance(admitted, Admitted) and admitted.issued is not None
        return admitted if given or self._serves() else STARTING

    def _serves(self) -> bool:
        return self._house.phase is Phase.SERVING

    async def _answer(self, visit: "_Visit", connect: Connect) -> None:
        admitted = await self._admitted(visit, connect)
        if isinstance(admitted, Refusal):
            if admitted is not STARTING:
                self._house.strangers.turned_away(code_of(admitted), visit.peer.host)
            visit.end(visit.connection.turn_away(admitted))
            return
        client = visit.client = Connected(
            id=self._house.new_id(),
            connection=visit.connection,
            client=connect.client,
            admitted=admitted,
            caps=frozenset(connect.caps),
            since=self._house.clock.now(),
            outgoing=visit.outgoing,
            device=None if connect.device is None else connect.device.id,
            declared=Declared(
                caps=connect.caps, commands=connect.commands, permissions=dict(connect.permissions)
            ),
        )
        self._house.clients.add(client)
        self._room.leave(visit)
        if visit.let_in is not None:
            visit.let_in()
        issued = admitted.issued
        welcome = Welcome(
            connection_id=client.id,
            method=admitted.method,
            scopes=tuple(str(scope) for scope in admitted.scopes),
            role=client.role,
            device_token=None if issued is None else issued.token,
            issued_at=None if issued is None else issued.at,
        )
        told = hello(welcome, offer(self._house, client), snapshot(self._house, client))
        visit.outgoing.put(visit.connection.welcome(told))
        if not self._serves():
            visit.outgoing.close(SERVICE_RESTART, RESTARTS)

    def _leave(self, client: Connected) -> None:
        self._house.clients.remove(client)
        self._house.nodes.left(client)
        for key in tuple(client.listens):
            self._fanout.unlisten(client, key)


class _Visit:
    """One connection from its challenge to its end."""

    def __init__(self, house: House, wire: Wire, peer: Peer, let_in: LetIn | None) -> None:
        self.wire = wire
        self.peer = peer
        self.let_in = let_in
        self.connection = Connection(house.new_id(), house.clock.now())
        self.outgoing = Outgoing(wire.take, house.covered)
        self.client: Connected | None = None
        self.under_way = 0

    @property
    def address(self) -> str:
        return throttled_by(self.peer.host)

    @property
    def silent(self) -> bool:
        return self.connection.phase is not ConnectionPhase.ASKING

    def send_away(self) -> None:
        """For one that comes."""
        self.connection.end()
        self.outgoing.cut(LATE, "too many connections wait")

    def end(self, close: Close) -> None:
        if close.frame is not None:
            self.outgoing.put(close.frame)
        self.outgoing.close(close.code, close.reason)

    async def give_up(self, whole: anyio.CancelScope) -> None:
        """Who does not read is not waited for, not even to be told."""
        await self.outgoing.overrun.wait()
        with anyio.move_on_after(GIVEN_UP_S):
            await self.wire.close(*(self.outgoing.closing or (LATE, "")))
        whole.cancel()

    async def write(self, whole: anyio.CancelScope) -> None:
        """What is to be sent, in order; then the end."""
        while (frame := await self.outgoing.next()) is not None:
            await self.wire.send(frame)
        code, reason = self.outgoing.closing or (1000, "")
        await self.wire.close(code, reason)
        whole.cancel()
