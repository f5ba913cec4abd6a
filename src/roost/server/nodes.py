"""What nodes were asked, and for a while what they answered. Kept in this process: a node is asked where it is
connected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio

from roost.core.errors import Conflict
from roost.core.inbound import digest_of, refuse_other
from roost.core.jsonvalue import JsonValue, compact
from roost.core.nodes import Answer, Done, Failed, Kept, NodeOffline, NodeTimeout, NodeUnknown, kept
from roost.ports import Clock
from roost.ports.limits import OutOfTime, within
from roost.protocol.events import INVOKE, Audience, WireEvent
from roost.server.clients import Clients, Connected

MOST_OF_ONE = 64
REMEMBERED = 1_000
KEPT_MS = 600_000
KEPT_BYTES = 65_536
"""What is larger is told to those who wait for it, and not again."""

_Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """`name` makes it the same when it comes again; nothing else is taken under it then."""

    node_id: str
    command: str
    params: JsonValue
    limit_ms: int
    name: str

    @property
    def digest(self) -> str:
        return digest_of(self.command, compact(self.params))


@dataclass(eq=False, slots=True, kw_only=True)
class _Asked:
    """`until` is when nobody waits for it any more."""

    id: str
    digest: str
    node: Connected
    until: int
    over: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """What came of it; None where the node left."""

    at: int
    digest: str
    outcome: Kept | Failed | None

    def done(self) -> Done:
        if isinstance(self.outcome, Kept):
            return self.outcome.done()
        return _outcome(self.outcome)


class Nodes:
    def __init__(self, clients: Clients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock
        self._asked: dict[_Key, _Asked] = {}
        self._over: dict[_Key, _Over] = {}

    def connected(self, node_id: str) -> Connected | None:
        """The newest connection of a node: an older one may be dead and not know it."""
        found = [one for one in self._clients if one.is_node and one.device == node_id]
        return max(found, key=lambda one: one.since, default=None)

    async def invoke(self, wish: Wish, request_id: str) -> Done:
        """What the node answers, in time."""
        self._forget()
        key = (wish.node_id, wish.name)
        over, asked = self._over.get(key), self._asked.get(key)
        if known := over or asked:
            refuse_other(known.digest, wish.digest)
        if over is not None:
            return over.done()
        asked = asked or self._ask(wish, request_id)
        asked.until = max(asked.until, self._clock.now() + wish.limit_ms)
        try:
            await within(self._clock, wish.limit_ms, asked.over.wait)
        except OutOfTime:
            raise NodeTimeout(
                f"the node did not answer {wish.command!r} in {wish.limit_ms} ms",
                hint="whether it did it is unknown",
            ) from None
        return _outcome(asked.answer)

    def answered(self, node: Connected, request_id: str, answer: Answer) -> bool:
        """Whether somebody asked this node for it and had no answer yet."""
        for key, asked in self._asked.items():
            if asked.id == request_id and asked.node.device == node.device:
                self._end(key, answer)
                return True
        return False

    def left(self, node: Connected) -> None:
        """A connection ended: what was asked over it is answered by nobody."""
        for key in [key for key, asked in self._asked.items() if asked.node is node]:
            self._end(key, None)

    def _end(self, key: _Key, answer: Answer | None) -> None:
        outcome = kept(answer, KEPT_BYTES) if isinstance(answer, Done) else answer
        asked = self._asked.pop(key)
        self._over[key] = _Over(at=self._clock.now(), digest=asked.digest, outcome=outcome)
        # Whole only those have it who wait for it.
        asked.answer = answer
        asked.over.set()
        self._forget()

    def _ask(self, wish: Wish, request_id: str) -> _Asked:
        node = self.connected(wish.node_id)
        if node is None:
            raise NodeOffline(
                "the node is not connected to this gateway", hint="the list of nodes shows who is"
            )
        node.declared.refuse_unknown(wish.command)
        now = self._clock.now()
        under_way = sum(one.node is node and one.until > now for one in self._asked.values())
        if under_way >= MOST_OF_ONE:
            raise Conflict(f"{MOST_OF_ONE} requests are under way at this node", hint="wait for some of them")
        asked = _Asked(id=request_id, digest=wish.digest, node=node, until=now + wish.limit_ms)
        self._asked[wish.node_id, wish.name] = asked
        payload: dict[str, JsonValue] = {
            "id": request_id,
            "nodeId": wish.node_id,
            "command": wish.command,
            "paramsJSON": None if wish.params is None else compact(wish.params),
            "timeoutMs": wish.limit_ms,
            "idempotencyKey": wish.name,
        }
        self._clients.tell(WireEvent(name=INVOKE, payload=payload, audience=Audience.NODE), among=(node,))
        return asked

    def _forget(self) -> None:
        now = self._clock.now()
        for key in _outdated({key: one.at for key, one in self._over.items()}, now):
            del self._over[key]
        for key in _outdated({key: one.until for key, one in self._asked.items() if one.until <= now}, now):
            del self._asked[key]


def _outdated(ended: Mapping[_Key, int], now: int) -> list[_Key]:
    """Those that ended long ago, and the oldest of too many."""
    too_many = len(ended) - REMEMBERED
    return [key for rank, (key, at) in enumerate(ended.items()) if at + KEPT_MS <= now or rank < too_many]


def _outcome(answer: Answer | None) -> Done:
    match answer:
        case Done() as done:
            return done
        case Failed() as failed:
            raise failed.error()
        case None:
            raise NodeUnknown("the node left before it answered", hint="whether it did it is unknown")
