"""Attacks over the port on what changes a session: through every door by who lacks the right, and by what was imported."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from roost.app.importing import import_folder
from roost.app.serving import Served
from roost.config import load
from roost.core.visibility import Operation
from tests.e2e.edges import Knocking, configured, owner, secret_of
from tests.e2e.test_attacks import browsing
from tests.e2e.test_gateway import served
from tests.flows.wiredoors import RPC_DOORS

READ, WRITE = "operator.read", "operator.write"
CHANGING = (Operation.PATCH, Operation.RESET, Operation.DELETE, Operation.STOP)
COMMANDS = (
    "/new",
    "/reset",
    "/compact",
    "/stop",
    "/model demo/demo",
    "/think low",
    "/send off",
    "/verbose on",
)
SAYING = (("chat.send", "sessionKey"), ("sessions.send", "key"), ("agent", "sessionKey"))
OWNERS = (
    ("sessions.reset", {"key": "side"}),
    ("sessions.reset", {"key": "side", "reason": "new"}),
    ("sessions.delete", {"key": "side"}),
    ("sessions.compact", {"key": "side"}),
    ("chat.inject", {"sessionKey": "side", "message": "x"}),
    *(
        ("sessions.patch", {"key": "side", name: value})
        for name, value in (
            ("sendPolicy", "deny"),
            ("verboseLevel", "on"),
            ("reasoningLevel", "on"),
            ("responseUsage", "full"),
            ("groupActivation", "always"),
        )
    ),
)
KEPT = ("sessionId", "label", "model", "thinkingLevel", "sendPolicy", "archived", "pinned", "verboseLevel")


async def stands(caller: Knocking) -> dict[str, Any]:
    """What of a session a change would change, and how much was said in it by then."""
    row = (await caller.call("sessions.describe", {"key": "side"}))["payload"]["session"]
    read = await caller.call("chat.history", {"sessionKey": "side"})
    return {name: row.get(name) for name in KEPT} | {"said": len(read["payload"]["messages"])}


async def begin(caller: Knocking) -> None:
    for name in ("side", "main"):
        said = {"sessionKey": name, "message": "hi", "idempotencyKey": f"to {name}"}
        assert (await caller.call("chat.send", said))["ok"]
        await caller.event("chat", runId=f"to {name}", state="final")


@pytest.mark.requirement("S7")
async def test_who_may_read_changes_nothing_through_any_door(tmp_path: Path) -> None:
    home = configured(tmp_path, {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}})
    async with served(home) as gateway, owner(gateway) as whole, owner(gateway, [READ]) as reader:
        await begin(whole)
        before = await stands(whole)
        session_id = before["sessionId"]
        doors = [door for door in RPC_DOORS if door.operation in CHANGING]
        assert {door.operation for door in doors} == set(CHANGING)
        for door in doors:
            refused = await reader.call(door.method, door.params(session_id if door.by_id else "side"))
            assert refused["error"]["details"]["code"] == "MISSING_SCOPE", door.name
        for command in COMMANDS:
            for method, named in SAYING:
                said = {named: "side", "message": command, "idempotencyKey": f"{method} {command}"}
                refused = await reader.call(method, said)
                assert refused["error"]["details"]["code"] == "MISSING_SCOPE", (method, command)
        async with browsing(gateway.port, secret_of(gateway)) as http:
            reading = {"x-openclaw-scopes": READ}
            question = {"model": "openclaw", "messages": [{"role": "user", "content": "/reset"}], "user": "a"}
            for page, body in (
                ("/v1/chat/completions", question),
                ("/tools/invoke", {"tool": "session_status", "args": {"model": "demo/demo"}}),
            ):
                assert (await http.post(page, json=body, headers=reading)).status_code == 403, page
        assert await stands(whole) == before


@pytest.mark.requirement("S7")
async def test_who_may_write_does_nothing_that_is_the_owners_through_any_door(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway, owner(gateway) as whole, owner(gateway, [READ, WRITE]) as writer:
        await begin(whole)
        before = await stands(whole)
        for method, params in OWNERS:
            refused = await writer.call(method, params)
            assert refused["error"]["details"]["missingScope"] == "operator.admin", (method, params)
        for command in ("/new", "/reset", "/compact", "/send off", "/verbose on"):
            for method, named in SAYING:
                said = {named: "side", "message": command, "idempotencyKey": f"{method} {command}"}
                await writer.call(method, said)
        after = await stands(whole)
        assert {**after, "said": before["said"]} == before
        # Nobody is kept from what is theirs: the same doors open for the owner.
        for method, params in OWNERS:
            if method != "sessions.delete":
                assert (await whole.call(method, params))["ok"], (method, params)
        assert (await stands(whole))["sessionId"] != before["sessionId"]
        assert (await whole.call("sessions.delete", {"key": "side"}))["payload"]["deleted"] is True


@dataclass(frozen=True, kw_only=True)
class Crafted:
    """A folder of sessions that claims what is not its to say."""

    folder: Path
    secret: Path
    word: str = "a-word-that-was-planted"
    sessions: dict[str, object] = field(default_factory=dict)

    def write(self) -> None:
        self.secret.write_text(f"{self.word}\n")
        self.folder.mkdir(parents=True)
        claims = {
            "workspaceDir": str(self.secret.parent),
            "cwd": str(self.secret.parent),
            "owner": "owner",
            "sendPolicy": "deny",
            "elevatedLevel": "on",
            "execSecurity": "full",
            "groupActivation": "always",
            "toolPolicy": {"allow": ["*"]},
            "model": "evil/model",
        }
        files = (str(self.secret), "../../../secret.txt", "s.jsonl")
        index = {
            f"agent:main:explicit:s{number}": {**claims, "sessionId": "s" * (number + 1), "sessionFile": file}
            for number, file in enumerate(files)
        }
        index["agent:main:telegram:direct:666"] = {**claims, "sessionId": "d"}
        (self.folder / "sessions.json").write_text(json.dumps(index))
        head = {"type": "session", "version": 3, "id": "s", "cwd": str(self.secret.parent), "owner": "owner"}
        line = {"type": "message", "id": "a", "parentId": None}
        line["message"] = {"role": "user", "content": "hi", "principal": "owner"}  # type: ignore[assignment]
        for name in ("s", "ss", "sss", "d"):
            text = "".join(f"{json.dumps(one)}\n" for one in ({**head, "id": name}, line))
            (self.folder / f"{name}.jsonl").write_text(text)


async def rows(gateway: Served) -> list[dict[str, Any]]:
    async with owner(gateway) as caller:
        found: list[dict[str, Any]] = (await caller.call("sessions.list", {"limit": 100}))["payload"][
            "sessions"
        ]
        return found


@pytest.mark.requirement("S25")
async def test_what_was_imported_opens_no_file_and_brings_no_policy_to_who_asks_for_it(
    tmp_path: Path,
) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    crafted = Crafted(folder=tmp_path / "claw" / "main" / "sessions", secret=outside / "secret.txt")
    crafted.write()
    loaded = load({"ROOST_HOME": str(home)})
    await import_folder(loaded, crafted.folder, agent="main", dry_run=False, progress=lambda item: None)
    async with served(home) as gateway:
        found = await rows(gateway)
        assert len(found) >= 2
        told: list[str] = [json.dumps(found)]
        async with owner(gateway) as caller, browsing(gateway.port, secret_of(gateway)) as http:
            for row in found:
                for name in ("sendPolicy", "groupActivation", "model", "elevatedLevel", "label"):
                    assert name not in row, (row["key"], name)
                read = await caller.call("chat.history", {"sessionKey": row["key"]})
                told.append(json.dumps(read))
                for path in ("secret.txt", str(crafted.secret), "../outside/secret.txt"):
                    invoked = {"tool": "read", "args": {"path": path}, "sessionKey": row["key"]}
                    answer = await http.post("/tools/invoke", json=invoked)
                    assert answer.status_code in (400, 404), (row["key"], path)
                    told.append(answer.text)
                for tool in ("exec", "write"):
                    body = {"tool": tool, "args": {}, "sessionKey": row["key"]}
                    assert (await http.post("/tools/invoke", json=body)).status_code == 404
        assert [one for one in told if crafted.word in one] == []
    assert crafted.secret.read_text() == f"{crafted.word}\n"
