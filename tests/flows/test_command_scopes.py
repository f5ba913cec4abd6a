"""Chat commands of clients: through every door a command does what the credential of its client may do by a call, no more."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.commands import COMMANDS, Name
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, text_of
from roost.core.queries import HistoryQuery
from roost.core.sessions import Session
from roost.protocol.families import agents, changes, chat, sessions, usage
from roost.protocol.method import Method
from roost.protocol.params import Params
from roost.protocol.scopes import Scope, holds
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient, Refused
from tests.flows.served import Gate, gates

LIMIT_S = 120
SETS = {
    "write": (Scope.WRITE,),
    "read-write": (Scope.READ, Scope.WRITE, Scope.APPROVALS, Scope.PAIRING),
    "admin": (Scope.ADMIN,),
}
KEY = {"key": "main"}
PATCH: Method[changes.PatchParams, changes.Changed] = changes.PATCH


def twin(method: Method[Params, object] | object, **params: object) -> Scope:
    """What a client needs to do the same by a call."""
    assert isinstance(method, Method)
    scope = method.scope(method.params.model_validate(params))
    assert scope is not None
    return scope


# What is written, and the call that does the same. Where there is none, it is the administrator's.
WRITTEN: dict[Name, dict[str, Scope]] = {
    Name.HELP: {"": twin(agents.COMMANDS)},
    Name.COMMANDS: {"": twin(agents.COMMANDS)},
    Name.STATUS: {"": twin(sessions.DESCRIBE, **KEY)},
    Name.WHOAMI: {"": twin(sessions.DESCRIBE, **KEY)},
    Name.EXPLAIN: {"": twin(sessions.DESCRIBE, **KEY)},
    Name.CONTEXT: {"": twin(sessions.DESCRIBE, **KEY)},
    Name.TOOLS: {"": twin(sessions.DESCRIBE, **KEY)},
    Name.USAGE: {
        "cost": twin(usage.USAGE),
        "full": twin(PATCH, responseUsage="full", **KEY),
        "": twin(PATCH, responseUsage="full", **KEY),
    },
    Name.NEW: {"": twin(changes.RESET, **KEY)},
    Name.RESET: {"": twin(changes.RESET, **KEY), "scripted/two": twin(changes.RESET, **KEY)},
    Name.BACK: {"": twin(changes.RESET, **KEY)},
    Name.STOP: {"": twin(chat.ABORT, sessionKey="main")},
    Name.STEER: {"hello": twin(chat.SEND, sessionKey="main", message="m", idempotencyKey="k")},
    Name.COMPACT: {"": twin(changes.COMPACT, **KEY)},
    Name.MODEL: {"scripted/two": twin(PATCH, model="m", **KEY)},
    Name.THINK: {"low": twin(PATCH, thinkingLevel="low", **KEY)},
    Name.REASONING: {"on": twin(PATCH, reasoningLevel="on", **KEY), "": twin(sessions.DESCRIBE, **KEY)},
    Name.VERBOSE: {"on": twin(PATCH, verboseLevel="on", **KEY), "": twin(sessions.DESCRIBE, **KEY)},
    Name.QUEUE: {"collect": Scope.ADMIN, "": twin(sessions.DESCRIBE, **KEY)},
    Name.NAME: {"Called": twin(PATCH, label="l", **KEY)},
    Name.SEND: {"off": twin(PATCH, sendPolicy="deny", **KEY)},
    Name.ACTIVATION: {"always": twin(PATCH, groupActivation="always", **KEY)},
    Name.SUBAGENTS: {"kill all": twin(changes.ABORT, **KEY)},
    Name.AGENTS: {"": twin(agents.AGENTS)},
    Name.SESSION: {"unbind": Scope.ADMIN},
    Name.EXPORT: {"": Scope.ADMIN, "--raw": Scope.ADMIN},
}

Say_ = Callable[[Gate, LocalClient, str, str], Awaitable[str]]


async def by_chat_send(gate: Gate, client: LocalClient, text: str, name: str) -> str:
    await client.call("chat.send", {"sessionKey": f"s-{name}", "message": text, "idempotencyKey": name})
    return await _told(client, name)


async def by_sessions_send(gate: Gate, client: LocalClient, text: str, name: str) -> str:
    await client.call("sessions.send", {"key": f"s-{name}", "message": text, "idempotencyKey": name})
    return await _told(client, name)


async def by_sessions_create(gate: Gate, client: LocalClient, text: str, name: str) -> str:
    await client.call("sessions.create", {"key": f"s-{name}", "message": text, "idempotencyKey": name})
    return await _told(client, name)


DOORS: dict[str, Say_] = {
    "chat.send": by_chat_send,
    "sessions.send": by_sessions_send,
    "sessions.create": by_sessions_create,
}


async def _told(client: LocalClient, name: str) -> str:
    final = await client.event("chat", runId=name, state="final")
    content = final.get("message", {}).get("content", [])
    return "\n".join(block["text"] for block in content)


def key_of(name: str) -> SessionKey:
    return SessionKey.parse(f"agent:main:s-{name}")


async def plant(gate: Gate, owner: LocalClient, name: str) -> Session:
    """A session in which something was said."""
    await owner.call(
        "chat.send", {"sessionKey": f"s-{name}", "message": "hello", "idempotencyKey": f"h-{name}"}
    )
    await owner.event("chat", runId=f"h-{name}", state="final")
    await gate.engine.settled()
    session = await gate.house.store.session(key_of(name))
    assert session is not None
    return session


def test_every_command_is_in_the_table() -> None:
    assert set(WRITTEN) == {command.name for command in COMMANDS}


@pytest.mark.requirement("S6", "S7")
@pytest.mark.parametrize("scopes", SETS)
@pytest.mark.parametrize("door", DOORS)
async def test_a_command_of_a_client_needs_what_the_call_that_does_the_same_needs(
    door: str, scopes: str, tmp_path: Path
) -> None:
    held = SETS[scopes]
    with anyio.fail_after(LIMIT_S):
        async with (
            gates("memory", tmp_path) as gate,
            gate.client() as owner,
            gate.client(scopes=[*map(str, held)]) as client,
        ):
            gate.bench.model.otherwise = (Say("words"),)
            exported = await _exports(gate)
            number = 0
            for command, cases in WRITTEN.items():
                for argument, needed in cases.items():
                    number += 1
                    name = f"n{number}"
                    before = await plant(gate, owner, name)
                    denials = len(await gate.house.store.denials(1_000))
                    answer = await DOORS[door](gate, client, f"/{command} {argument}".strip(), name)
                    await gate.engine.settled()
                    refused = (await gate.house.store.denials(1_000))[: -denials or None]
                    if holds(held, needed):
                        assert "needs the scope" not in answer, (command, argument)
                        assert refused == ()
                        continue
                    assert f"needs the scope {needed}" in answer, (command, argument)
                    (denial,) = refused
                    assert denial.rule == f"missing scope: {needed}"
                    await _assert_untouched(gate, before)
            assert bool(exported) == holds(held, Scope.ADMIN)


@pytest.mark.requirement("S6")
async def test_a_command_begins_no_run_of_an_agent_and_is_refused_whoever_says_it(tmp_path: Path) -> None:
    with anyio.fail_after(LIMIT_S):
        async with gates("memory", tmp_path) as gate, gate.client() as owner:
            await _also_starts_afresh(gate, "from the top")
            gate.bench.model.otherwise = (Say("words"),)
            exported = await _exports(gate)
            before = await plant(gate, owner, "n1")
            lines = [f"/{name} {one}".strip() for name, cases in WRITTEN.items() for one in cases]
            for text in (*lines, "/new hello", "/reset: scripted/two hello", "from the top", "/STATUS"):
                said = {"sessionKey": "s-n1", "message": text, "idempotencyKey": text}
                with pytest.raises(Refused) as refused:
                    await owner.call("agent", said)
                assert "is a command" in refused.value.error["message"], text
                assert "chat.send" in refused.value.error["details"]["hint"]
            assert await gate.house.store.session(before.key) == before
            assert exported == []


@pytest.mark.requirement("S6")
@pytest.mark.parametrize(
    "text", ["/etc/hosts is what?", "/think high why?", "why? /status", "stop", "`/new`"]
)
async def test_what_is_more_than_a_command_begins_a_run_of_an_agent(text: str, tmp_path: Path) -> None:
    with anyio.fail_after(LIMIT_S):
        async with gates("memory", tmp_path) as gate, gate.client() as owner:
            gate.bench.model.otherwise = (Say("words"),)
            asked = owner.send("agent", {"message": text, "idempotencyKey": "n1"})
            assert (await owner.answer(asked))["payload"]["status"] == "accepted"
            final = await owner.answer(asked, 2)
            assert final["payload"]["result"]["payloads"] == [{"text": "words", "mediaUrl": None}]


@pytest.mark.requirement("S6")
async def test_a_word_that_starts_afresh_is_a_command_too(tmp_path: Path) -> None:
    with anyio.fail_after(LIMIT_S):
        async with gates("memory", tmp_path) as gate, gate.client() as owner:
            await _also_starts_afresh(gate, "from the top")
            gate.bench.model.otherwise = (Say("words"),)
            before = await plant(gate, owner, "n1")
            async with gate.client(scopes=["operator.write"]) as client:
                answer = await by_chat_send(gate, client, "from the top", "n1")
            assert "needs the scope operator.admin" in answer
            await _assert_untouched(gate, before)


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("scopes", SETS)
async def test_what_is_completed_over_http_is_never_a_command(scopes: str, tmp_path: Path) -> None:
    """Its caller's words are what is said, whatever the credential holds."""
    with anyio.fail_after(LIMIT_S):
        async with gates("memory", tmp_path) as gate:
            rules = gate.engine.rules
            await gate.engine.reload(replace(rules, house=replace(rules.house, completions=True)))
            gate.bench.model.otherwise = (Say("words"),)
            async with gate.browser(**{"x-openclaw-scopes": " ".join(SETS[scopes])}) as http:
                for command, cases in WRITTEN.items():
                    for argument in cases:
                        text = f"/{command} {argument}".strip()
                        body = {
                            "model": "openclaw",
                            "user": "ann",
                            "messages": [{"role": "user", "content": text}],
                        }
                        answer = (await http.post("/v1/chat/completions", json=body)).json()
                        assert answer["choices"][0]["message"]["content"] == "words", text
                        assert text_of(gate.bench.model.requests[-1].messages[-1]).endswith(text)
            key = SessionKey.parse("agent:main:openai-user:ann")
            assert len(await gate.house.store.generations(key)) == 1
            assert await gate.house.store.denials(10) == ()


async def _exports(gate: Gate) -> list[SessionKey]:
    """What was written to files from now on."""
    written: list[SessionKey] = []

    async def export(key: SessionKey, raw: bool) -> tuple[str, ...]:
        written.append(key)
        return (f"{key}.jsonl",)

    rules = gate.engine.rules
    await gate.engine.reload(replace(rules, commands=replace(rules.commands, export=export)))
    return written


async def _assert_untouched(gate: Gate, before: Session) -> None:
    """Nothing of the session moved but the count of its events: what was said and what it was answered."""
    after = await gate.house.store.session(before.key)
    assert after is not None
    assert after._replace(events=before.events, times=before.times, version=before.version) == before
    page = await gate.house.store.history(HistoryQuery(key=before.key))
    assert sum(isinstance(entry.body, AssistantMessage) for entry in page.entries) == 1


async def _also_starts_afresh(gate: Gate, words: str) -> None:
    rules = gate.engine.rules
    await gate.engine.reload(replace(rules, commands=replace(rules.commands, triggers=(words,))))
