"""What goes over a connection, checked against the schemas that the client ships: about every method and event."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.interop.clients import Client
from tests.interop.pipes import Failed

Frame = dict[str, Any]

CHECKER = Path(__file__).with_name("schemas.mjs")
LONGEST_S = 60
FEWEST_CHECKED = 40
"""Kinds of values that a schema was found for: fewer, and the client names its schemas otherwise."""

# Where the client's own gateway breaks the schema that it ships, and its clients read on.
KNOWN = MappingProxyType(
    {
        ("event:agent", f'must NOT have additional properties {{"additionalProperty":"{name}"}}'): reason
        for name, reason in dict.fromkeys(
            ("sessionKey", "sessionId", "agentId"),
            "each says of which session it is, as every client expects",
        ).items()
    }
)
EVENTS = MappingProxyType(
    {"chat": "ChatEvent", "agent": "AgentEvent", "tick": "TickEvent", "shutdown": "ShutdownEvent"}
)
NAMED = MappingProxyType(
    {
        "params:agent.identity.get": "AgentIdentityParams",
        "result:agent.identity.get": "AgentIdentityResult",
        "result:cron.get": "CronJob",
        "result:cron.update": "CronJob",
    }
)
"""Schemas that are not called like their method."""
ROWS: Mapping[str, tuple[Callable[[Any], Iterable[Any]], str]] = MappingProxyType(
    {
        "sessions.list": (lambda told: told["sessions"], "SessionRow"),
        "sessions.describe": (lambda told: [told["session"]], "SessionRow"),
        "sessions.search": (lambda told: told.get("sessions", []), "SessionRow"),
        "cron.list": (lambda told: told["jobs"], "CronJob"),
        "system-presence": (lambda told: told, "PresenceEntry"),
    }
)
WORDS = (
    "hello",
    "list my sessions",
    "spawn a helper to count to 5",
    "/status",
    "search my sessions for hello",
)
MAIN = {"key": "main"}
EVERY_HOUR = {"kind": "every", "everyMs": 3_600_000}
JOB = {
    "name": "recorded",
    "schedule": EVERY_HOUR,
    "sessionTarget": "isolated",
    "wakeMode": "now",
    "payload": {"kind": "agentTurn", "message": "hello"},
}
ASKED: tuple[tuple[str, Frame | None], ...] = (
    *(("health", None), ("status", {}), ("system-presence", None), ("last-heartbeat", None)),
    ("channels.status", {"probe": False, "timeoutMs": 1_000}),
    *(("set-heartbeats", {"enabled": True}), ("logs.tail", {"limit": 5}), ("config.get", {})),
    ("sessions.list", {"limit": 20, "includeDerivedTitles": True, "includeLastMessage": True}),
    *(("sessions.describe", MAIN), ("sessions.resolve", MAIN), ("sessions.get", {**MAIN, "limit": 3})),
    ("sessions.preview", {"keys": ["main", "nowhere"], "limit": 3, "maxChars": 50}),
    ("sessions.search", {"query": "hello", "sessionKeys": ["main"], "limit": 5}),
    ("sessions.search", {"query": "hello", "scope": {"archived": "all"}}),
    *(
        ("sessions.usage", {"range": "7d"}),
        ("sessions.usage", {"timeZone": "Europe/Rome", "mode": "specific"}),
    ),
    *(("sessions.usage.timeseries", MAIN), ("sessions.usage.logs", MAIN), ("usage.cost", {"days": 3})),
    ("sessions.create", {"key": "recorded", "parentSessionKey": "main", "succeedsParent": True}),
    ("sessions.patch", {"key": "recorded", "label": "Recorded", "pinned": True}),
    ("sessions.send", {"key": "recorded", "message": "hi", "idempotencyKey": "recorded-sent"}),
    *(("sessions.abort", {"key": "recorded", "clearQueued": True}), ("sessions.compact", MAIN)),
    *(("sessions.reset", {"key": "recorded"}), ("sessions.cleanup", {"allAgents": True, "enforce": False})),
    *(("chat.startup", {"sessionKey": "main", "limit": 5}), ("chat.metadata", {})),
    *(
        ("chat.abort", {"sessionKey": "main"}),
        ("chat.inject", {"sessionKey": "main", "message": "x", "label": "L"}),
    ),
    *(("agent.identity.get", {}), ("agents.list", {}), ("models.list", {}), ("commands.list", {})),
    *(
        ("device.pair.list", {}),
        ("people.list", {}),
        ("node.list", {}),
        ("node.pair.list", {}),
        ("cron.status", {}),
    ),
    ("wake", {"mode": "next-heartbeat", "text": "x"}),
    *(("sessions.tree", MAIN), ("sessions.explain", MAIN), ("sessions.timeline", MAIN)),
    *(("sessions.denials", MAIN), ("sessions.ledger", MAIN), ("sessions.exchanges", MAIN)),
    *(("sessions.points.list", MAIN), ("deliveries.list", {}), ("gateways.list", {}), ("security.audit", {})),
    *(("roost.search", {"query": "hello"}), ("roost.cleanup", {"dryRun": True}), ("roost.export", MAIN)),
    ("sessions.messages.unsubscribe", MAIN),
    ("sessions.delete", {"key": "recorded", "deleteTranscript": True}),
)


async def frames(client: Client) -> None:
    """A broad run, and no value in it that breaks its schema but where that is known."""
    async with connect(client.url, max_size=None) as socket, asyncio.TaskGroup() as group:
        talk = Talk(socket)
        reading = group.create_task(talk.read())
        await _run(talk, client.token)
        reading.cancel()
    unasked = sorted(set(talk.advertised) - talk.asked - UNASKED.keys())
    if unasked:
        raise Failed(f"advertised, but neither recorded nor named as left out: {', '.join(unasked)}")
    await _check(client, list(talk.values()))


UNASKED = MappingProxyType(
    {
        **dict.fromkeys(
            ("device.pair.approve", "device.pair.reject", "device.pair.remove", "device.token.rotate"),
            "there is no device that asks",
        ),
        "device.token.revoke": "there is no device that asks",
        **dict.fromkeys(("people.approve", "people.reject", "people.remove"), "there is nobody who asks"),
        **dict.fromkeys(("node.describe", "node.invoke"), "there is no node"),
        **dict.fromkeys(("send", "message.action"), "there is no channel"),
        **dict.fromkeys(("deliveries.retry", "deliveries.dismiss"), "no message failed"),
        "gateways.drain": "the other clients still need the gateway",
        **dict.fromkeys(
            (
                "sessions.points.save",
                "sessions.points.diff",
                "sessions.points.load",
                "sessions.points.delete",
            ),
            "Roost's own, of which the client has no schema",
        ),
    }
)


class Talk:
    """One connection, and all that went over it in its order."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._answers: dict[str, asyncio.Queue[Frame]] = {}
        self._sent: dict[str, str] = {}
        self._record: list[Frame] = []
        self.advertised: tuple[str, ...] = ()
        self.asked: set[str] = set()

    async def read(self) -> None:
        async for text in self._socket:
            frame = json.loads(text)
            self._record.append(frame)
            if frame["type"] == "res":
                self._answers[frame["id"]].put_nowait(frame)

    async def ask(self, method: str, params: Frame | None, answers: int = 1) -> Any:
        name = f"{len(self._sent)}"
        self._sent[name], self._answers[name] = method, asyncio.Queue()
        frame: Frame = {"type": "req", "id": name, "method": method}
        if params is not None:
            frame["params"] = params
        self.asked.add(method)
        self._record.append(frame)
        await self._socket.send(json.dumps(frame))
        async with asyncio.timeout(LONGEST_S):
            told = [await self._answers[name].get() for _ in range(answers)][-1]
        if not told["ok"]:
            raise Failed(f"{method}: {told['error']}")
        return told.get("payload")

    def values(self) -> Iterator[tuple[str, str, Any]]:
        """What each is, the schema that it should keep, and itself."""
        for frame in self._record:
            match frame["type"]:
                case "req":
                    yield "frame:req", "RequestFrame", frame
                    yield (
                        f"params:{frame['method']}",
                        f"{_camel(frame['method'])}Params",
                        frame.get("params", {}),
                    )
                case "res":
                    yield "frame:res", "ResponseFrame", frame
                    yield from _result(self._sent[frame["id"]], frame["payload"])
                case _:
                    yield "frame:event", "EventFrame", frame
                    yield from _event(frame["event"], frame.get("payload"))


def _named(part: str, method: str, value: Any) -> tuple[str, str, Any]:
    kind = f"{part}:{method}"
    return kind, NAMED.get(kind, f"{_camel(method)}{part.capitalize()}"), value


def _result(method: str, payload: Any) -> Iterator[tuple[str, str, Any]]:
    yield ("hello-ok", "HelloOk", payload) if method == "connect" else _named("result", method, payload)
    if method in ROWS:
        rows, schema = ROWS[method]
        for row in rows(payload):
            yield f"row:{method}", schema, row


def _event(event: str, payload: Any) -> Iterator[tuple[str, str, Any]]:
    if event in EVENTS:
        yield f"event:{event}", EVENTS[event], payload
    for entry in payload["presence"] if event == "presence" else ():
        yield "event:presence", "PresenceEntry", entry


def _camel(method: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[.-]", method))


async def _run(talk: Talk, token: str) -> None:
    about = {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"}
    hello = {"minProtocol": 4, "maxProtocol": 4, "client": about, "caps": ["tool-events"], "role": "operator"}
    greeted = await talk.ask("connect", {**hello, "scopes": ["operator.admin"], "auth": {"token": token}})
    talk.advertised = tuple(greeted["features"]["methods"])
    await talk.ask("sessions.subscribe", {})
    await talk.ask("sessions.subscribe", {"limit": 5})
    await talk.ask("sessions.messages.subscribe", {**MAIN, "includeApprovals": True})
    for number, words in enumerate(WORDS):
        name = f"recorded-{number}"
        await talk.ask("chat.send", {"sessionKey": "main", "message": words, "idempotencyKey": name})
        await talk.ask("agent.wait", {"runId": name, "timeoutMs": 30_000})
    await talk.ask(
        "agent",
        {
            "message": "hello",
            "sessionKey": "main",
            "extraSystemPrompt": "Be brief.",
            "idempotencyKey": "recorded-a",
        },
        answers=2,
    )
    page = await talk.ask("chat.history", {"sessionKey": "main", "limit": 50})
    said = next(row["__openclaw"]["id"] for row in page["messages"] if row["role"] == "user")
    await talk.ask("chat.history", {"sessionKey": "main", "messageId": said})
    await talk.ask("sessions.fork", {"sessionKey": "main", "entryId": said})
    await talk.ask("roost.fork", {"key": "main", "messageId": said})
    await _timed(talk)
    for method, params in ASKED:
        await talk.ask(method, params)


async def _timed(talk: Talk) -> None:
    added = await talk.ask("cron.add", JOB)
    job = {"id": added["id"]}
    await talk.ask("cron.get", job)
    await talk.ask("cron.update", {**job, "patch": {"name": "renamed"}})
    await talk.ask("cron.run", {**job, "mode": "force"})
    await talk.ask("cron.list", {"includeDisabled": True, "limit": 50, "offset": 0})
    await talk.ask("cron.runs", {**job, "limit": 5})
    await talk.ask("cron.remove", job)


async def _check(client: Client, values: list[tuple[str, str, Any]]) -> None:
    lines = "".join(f"{json.dumps({'schema': schema, 'value': value})}\n" for _, schema, value in values)
    process = await asyncio.create_subprocess_exec(
        *client.node(str(CHECKER), str(client.package)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(client.environment),
    )
    told, failed = await process.communicate(lines.encode())
    if process.returncode != 0:
        raise Failed(f"the schemas could not be read: {failed.decode(errors='replace')[-500:]}")
    found = [json.loads(line) for line in told.splitlines()]
    checked = {kind for (kind, _, _), one in zip(values, found, strict=True) if one["known"]}
    if len(checked) < FEWEST_CHECKED:
        raise Failed(
            f"a schema was found for {len(checked)} kinds of values only: {', '.join(sorted(checked))}"
        )
    broken = Counter(
        (kind, error) for (kind, _, _), one in zip(values, found, strict=True) for error in one["errors"]
    )
    known = {
        each: next((one for one in KNOWN if each[0] == one[0] and each[1].endswith(one[1])), None)
        for each in broken
    }
    wrong = [f"{broken[each]} × {': '.join(each)}" for each, one in known.items() if one is None]
    unneeded = [f"no longer so: {': '.join(one)}" for one in KNOWN if one not in known.values()]
    if wrong or unneeded:
        raise Failed("\n".join((*wrong, *unneeded)))
