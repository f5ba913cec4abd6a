"""The methods by which a client does something to a session that it names, and those that show what sessions there are.

A method that is added to the protocol must be in one of the tables here.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from roost.core.keys import SessionKey
from roost.core.visibility import Operation
from roost.testing.wires import LocalClient, Refused
from tests.flows.doors import Answer
from tests.flows.guards import NOWHERE, id_of

Named: TypeAlias = Callable[[str], dict[str, object]]
_UNTOLD = ("ts", "updatedAt")


def by(field: str, **more: object) -> Named:
    return lambda name: {field: name, **more}


def _there(told: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcDoor:
    """`by_id` names the session by its id; `there` reads from an answer whether there is such a session, and `but` is what
    even who may do it can be told."""

    method: str
    operation: Operation
    params: Named
    by_id: bool = False
    there: Callable[[Any], bool] = _there
    but: str | None = None

    @property
    def name(self) -> str:
        given = "-".join(self.params("x"))
        return f"{self.operation}-{self.method}-{given}"

    async def probe(self, client: LocalClient, key: SessionKey) -> Answer:
        name, nobody = (id_of(key), id_of(NOWHERE)) if self.by_id else (str(key), str(NOWHERE))
        try:
            told = await client.call(self.method, self.params(name))
        except Refused as refused:
            words = json.dumps(refused.error, sort_keys=True).replace(name, nobody)
            return Answer(allowed=self.but is not None and self.but in words, words=words)
        shown = {field: value for field, value in told.items() if field not in _UNTOLD}
        words = json.dumps(shown, sort_keys=True).replace(name, nobody)
        return Answer(allowed=self.there(told), words=words)


def saying(field: str) -> Named:
    return lambda name: {field: name, "message": "hello", "idempotencyKey": f"to {name}"}


RPC_DOORS: tuple[RpcDoor, ...] = (
    RpcDoor(
        method="sessions.describe",
        operation=Operation.STATUS,
        params=by("key"),
        there=lambda told: told["session"] is not None,
    ),
    RpcDoor(
        method="sessions.describe",
        operation=Operation.HISTORY,
        params=by("key", includeLastMessage=True),
        there=lambda told: told["session"] is not None,
    ),
    RpcDoor(method="sessions.resolve", operation=Operation.STATUS, params=by("key")),
    RpcDoor(method="sessions.resolve", operation=Operation.STATUS, params=by("sessionId"), by_id=True),
    RpcDoor(
        method="sessions.resolve",
        operation=Operation.STATUS,
        params=by("sessionId", allowMissing=True),
        by_id=True,
        there=lambda told: told["ok"],
    ),
    RpcDoor(
        method="sessions.preview",
        operation=Operation.HISTORY,
        params=lambda name: {"keys": [name]},
        there=lambda told: told["previews"][0]["status"] != "missing",
    ),
    RpcDoor(
        method="sessions.get",
        operation=Operation.HISTORY,
        params=by("key"),
        there=lambda told: bool(told["messages"]),
    ),
    RpcDoor(
        method="chat.history",
        operation=Operation.HISTORY,
        params=by("sessionKey"),
        there=lambda told: "sessionId" in told,
    ),
    RpcDoor(
        method="chat.startup",
        operation=Operation.HISTORY,
        params=by("sessionKey"),
        there=lambda told: "sessionId" in told,
    ),
    RpcDoor(method="sessions.messages.subscribe", operation=Operation.HISTORY, params=by("key")),
    RpcDoor(method="sessions.messages.unsubscribe", operation=Operation.HISTORY, params=by("key")),
    RpcDoor(method="roost.search", operation=Operation.SEARCH, params=by("key", query="canary")),
    RpcDoor(
        method="sessions.search",
        operation=Operation.SEARCH,
        params=lambda name: {"sessionKeys": [name], "query": "canary"},
        there=lambda told: bool(told["results"]),
    ),
    RpcDoor(method="sessions.tree", operation=Operation.LIST, params=by("key")),
    RpcDoor(
        method="sessions.usage",
        operation=Operation.LIST,
        params=by("key"),
        there=lambda told: bool(told["sessions"]),
    ),
    RpcDoor(method="sessions.explain", operation=Operation.STATUS, params=by("key")),
    RpcDoor(method="sessions.denials", operation=Operation.STATUS, params=by("key")),
    RpcDoor(method="sessions.ledger", operation=Operation.STATUS, params=by("key")),
    RpcDoor(method="sessions.usage.timeseries", operation=Operation.STATUS, params=by("key")),
    RpcDoor(method="sessions.usage.logs", operation=Operation.HISTORY, params=by("key")),
    RpcDoor(method="sessions.timeline", operation=Operation.HISTORY, params=by("key")),
    RpcDoor(method="sessions.exchanges", operation=Operation.HISTORY, params=by("key")),
    RpcDoor(
        method="wake", operation=Operation.SEND, params=by("sessionKey", mode="next-heartbeat", text="x")
    ),
    RpcDoor(method="sessions.create", operation=Operation.SEND, params=by("key")),
    RpcDoor(method="sessions.send", operation=Operation.SEND, params=saying("key")),
    RpcDoor(method="chat.send", operation=Operation.SEND, params=saying("sessionKey")),
    RpcDoor(
        method="chat.send",
        operation=Operation.SEND,
        params=lambda name: {**saying("sessionKey")(name), "sessionId": "another"},
        but="never had that sessionId",
    ),
    RpcDoor(
        method="chat.send",
        operation=Operation.SEND,
        params=lambda name: {**saying("sessionKey")(name), "deliver": True, "message": "/status"},
    ),
    RpcDoor(method="chat.send", operation=Operation.SEND, params=saying("sessionKey"), by_id=True),
    RpcDoor(method="sessions.send", operation=Operation.SEND, params=saying("key"), by_id=True),
    RpcDoor(
        method="sessions.patch", operation=Operation.PATCH, params=by("key", thinkingLevel="low"), by_id=True
    ),
    RpcDoor(
        method="chat.inject",
        operation=Operation.PATCH,
        params=by("sessionKey", message="x"),
        by_id=True,
    ),
    RpcDoor(method="agent", operation=Operation.SEND, params=saying("sessionKey")),
    RpcDoor(method="agent", operation=Operation.SEND, params=saying("sessionId"), by_id=True),
    RpcDoor(method="sessions.patch", operation=Operation.PATCH, params=by("key", thinkingLevel="low")),
    RpcDoor(
        method="sessions.patch",
        operation=Operation.DELETE,
        params=by("key", archived=True),
        but="Cannot archive the main session",
    ),
    RpcDoor(method="sessions.patch", operation=Operation.DELETE, params=by("key", pinned=True)),
    RpcDoor(
        method="sessions.patch",
        operation=Operation.PATCH,
        params=by("key", expectedSessionId="another"),
        but="is another one now",
    ),
    RpcDoor(method="sessions.compact", operation=Operation.PATCH, params=by("key")),
    RpcDoor(method="chat.inject", operation=Operation.PATCH, params=by("sessionKey", message="x")),
    RpcDoor(method="sessions.points.list", operation=Operation.HISTORY, params=by("key")),
    RpcDoor(
        method="sessions.points.diff",
        operation=Operation.HISTORY,
        params=by("key", before="x"),
        but="no save point",
    ),
    RpcDoor(
        method="sessions.points.save",
        operation=Operation.PATCH,
        params=by("key", name="saved"),
        but="there is a save point",
    ),
    RpcDoor(
        method="sessions.points.delete",
        operation=Operation.DELETE,
        params=by("key", name="x"),
        but="no save point",
    ),
    RpcDoor(method="sessions.reset", operation=Operation.RESET, params=by("key")),
    RpcDoor(
        method="sessions.delete",
        operation=Operation.DELETE,
        params=by("key"),
        but="Cannot delete the main session",
    ),
    RpcDoor(
        method="sessions.delete",
        operation=Operation.DELETE,
        params=by("key", archivedOnly=True),
        but="is not archived",
    ),
    RpcDoor(method="sessions.abort", operation=Operation.STOP, params=by("key")),
    RpcDoor(method="chat.abort", operation=Operation.STOP, params=by("sessionKey")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcView:
    """A method that shows sessions without being told which."""

    method: str
    params: dict[str, object]
    keys: Callable[[Any], Iterable[str]]

    @property
    def name(self) -> str:
        return self.method

    async def shown(self, client: LocalClient) -> set[str]:
        return set(self.keys(await client.call(self.method, self.params)))


def _keys(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [row["key"] for row in rows]


RPC_VIEWS = (
    RpcView(
        method="sessions.list",
        params={"archived": "all", "limit": 500},
        keys=lambda told: _keys(told["sessions"]),
    ),
    RpcView(
        method="sessions.subscribe",
        params={"archived": "all", "limit": 500},
        keys=lambda told: _keys(told["list"]["sessions"]),
    ),
    RpcView(
        method="roost.search",
        params={"query": "canary", "limit": 100},
        keys=lambda told: _keys(told["results"]),
    ),
    RpcView(
        method="sessions.search",
        params={"query": "canary", "limit": 25},
        keys=lambda told: [row["sessionKey"] for row in told["results"]],
    ),
    RpcView(
        method="sessions.usage",
        params={"limit": 200, "range": "all"},
        keys=lambda told: _keys(told["sessions"]),
    ),
)
# It shows the newest few.
SHOWING_SOME = {"status"}
# For who may see every session.
OWNERS = {
    *(
        "set-heartbeats",
        "logs.tail",
        "config.get",
        "sessions.cleanup",
        "roost.cleanup",
        "roost.export",
        "device.pair.list",
        "device.pair.approve",
    ),
    *(
        "cron.list",
        "cron.status",
        "cron.get",
        "cron.add",
        "cron.update",
        "cron.remove",
        "cron.run",
        "cron.runs",
    ),
    *("deliveries.list", "deliveries.retry", "deliveries.dismiss"),
    *("gateways.list", "gateways.drain", "security.audit"),
    *("sessions.fork", "roost.fork", "sessions.points.load", "send", "message.action"),
    *("node.list", "node.describe", "node.invoke", "node.pair.list"),
    *("people.list", "people.approve", "people.reject", "people.remove"),
    *("device.pair.reject", "device.pair.remove", "device.token.rotate", "device.token.revoke"),
}
# For nodes, which have sessions of their own.
OF_NODES = {"node.event", "node.invoke.result"}
# They look for what the caller itself sent, or caused.
OF_THE_CALLER = {"agent.wait", "usage.cost"}
TOUCHING_NO_SESSION = {
    *(
        "health",
        "system-presence",
        "channels.status",
        "last-heartbeat",
        "chat.metadata",
        "agent.identity.get",
    ),
    *("agents.list", "models.list", "commands.list"),
}
