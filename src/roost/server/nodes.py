"""What nodes were asked, until they answer. Kept in this process: a node that is connected elsewhere is away."""

from collections import OrderedDict
from dataclasses import dataclass, field

import anyio

from roost.core.errors import Conflict
from roost.core.jsonvalue import JsonValue, compact
from roost.core.nodes import Answer, Done, Failed, NodeOffline, NodeTimeout
from roost.ports import Clock
from roost.ports.limits import OutOfTime, within
from roost.protocol.events import INVOKE, Audience, WireEvent
from roost.server.clients import Clients, Connected

MOST_OF_ONE = 64
REMEMBERED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """`name` makes it the same when it comes again."""

    node_id: str
    command: str
    params: JsonValue
    limit_ms: int
    name: str


@dataclass(eq=False, slots=True, kw_only=True)
class _Asked:
    id: str
    node: Connected
    over: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None


class Nodes:
    def __init__(self, clients: Clients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock
        self._asked: OrderedDict[tuple[str, str], _Asked] = OrderedDict()

    def connected(self, node_id: str) -> Connected | None:
        """The newest connection of a node: an older one may be dead and not know it."""
        found = [one for one in self._clients if one.is_node and one.device == node_id]
        return max(found, key=lambda one: one.since, default=None)

    async def invoke(self, wish: Wish, request_id: str) -> Done:
        """What the node answers, in time."""
        asked = self._asked.get((wish.node_id, wish.name)) or self._ask(wish, request_id)
        try:
            await within(self._clock, wish.limit_ms, asked.over.wait)
        except OutOfTime:
            raise NodeTimeout(
                f"the node did not answer {wish.command!r} in {wish.limit_ms} ms",
                hint="whether it did it is unknown",
            ) from None
        match asked.answer:
            case Done() as done:
                return done
            case Failed() as failed:
                raise failed.error()
            case None:
                raise NodeOffline("the node left before it answered", hint="whether it did it is unknown")

    def answered(self, node: Connected, request_id: str, answer: Answer) -> bool:
        """Whether somebody asked this node for it and had no answer yet."""
        for asked in self._asked.values():
            if asked.id == request_id and asked.node.device == node.device and not asked.over.is_set():
                asked.answer = answer
                asked.over.set()
                return True
        return False

    def left(self, node: Connected) -> None:
        """A connection ended: what was asked over it is answered by nobody."""
        for asked in self._asked.values():
            if asked.node is node:
                asked.over.set()

    def _ask(self, wish: Wish, request_id: str) -> _Asked:
        node = self.connected(wish.node_id)
        if node is None:
            raise NodeOffline("the node is not connected to this gateway", hint="`node.list` shows who is")
        node.declared.refuse_unknown(wish.command)
        under_way = sum(one.node is node and not one.over.is_set() for one in self._asked.values())
        if under_way >= MOST_OF_ONE:
            raise Conflict(f"{MOST_OF_ONE} requests are under way at this node", hint="wait for some of them")
        asked = self._asked[wish.node_id, wish.name] = _Asked(id=request_id, node=node)
        self._forget()
        payload: dict[str, JsonValue] = {
            "id": request_id,
            "nodeId": wish.node_id,
            "command": wish.command,
            "paramsJSON": None if wish.params is None else compact(wish.params),
            "timeoutMs": wish.limit_ms,
            "idempotencyKey": wish.name,
        }
        self._clients.tell(WireEvent(name=INVOKE, payload=payload, audience=Audience.NODE), (node,))
        return asked

    def _forget(self) -> None:
        """The oldest of those that are over."""
        over = [name for name, one in self._asked.items() if one.over.is_set()]
        for name in over[: max(0, len(self._asked) - REMEMBERED)]:
            del self._asked[name]
