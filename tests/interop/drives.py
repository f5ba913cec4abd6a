"""What each client must manage: see the sessions, say something, and get the answer of the demonstration model."""

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

from tests.interop.clients import Client, terminal
from tests.interop.frames import frames
from tests.interop.pipes import Failed, Pipe, piping

QUESTION, ANSWER = "what is a session?", "one conversation"
MAIN = "agent:main:main"
LOOK_S = 0.5


async def command_line(client: Client) -> None:
    """One call a process, each for its answer."""
    said = {"sessionKey": "main", "message": QUESTION, "idempotencyKey": "interop-1"}
    again = {"sessionKey": "main", "message": QUESTION, "idempotencyKey": "interop-2"}
    _expect("ok", await _call(client, "health"))
    _expect("interop-1", await _call(client, "chat.send", **said))
    _expect('"ok"', await _call(client, "agent.wait", runId="interop-1", timeoutMs=60_000))
    _expect(ANSWER, await _call(client, "chat.history", sessionKey="main", limit=20))
    _expect(MAIN, await _call(client, "sessions.list"))
    _expect(ANSWER, await _ran(client, *_calling("agent", again), "--expect-final"))
    _expect("OK", await _ran(client, "gateway", "health", *client.door))


async def terminal_chat(client: Client) -> None:
    """Typed on a screen and read from it."""
    socket = client.home / "screen"
    screen = [terminal(), "-S", str(socket)]
    shown = shlex.join(client.command("tui", *client.door, "--session", "agent:main:typed"))
    await _run(client, *screen, "new-session", "-d", "-x", "150", "-y", "50", shown)
    try:
        await _until(client, screen, "connected")
        await _run(client, *screen, "send-keys", "-l", QUESTION)
        await _until(client, screen, QUESTION)
        await _run(client, *screen, "send-keys", "Enter")
        await _until(client, screen, ANSWER)
        _expect("agent:main:typed", await _call(client, "sessions.list"))
    finally:
        await _run(client, *screen, "kill-server")


async def editor_bridge(client: Client) -> None:
    """As an editor drives it."""
    async with piping(client, "acp") as pipe:
        await pipe.ask("initialize", protocolVersion=1, clientCapabilities={})
        session = (await pipe.ask("session/new", cwd=str(client.home), mcpServers=[]))["sessionId"]
        ended = await pipe.ask(
            "session/prompt", sessionId=session, prompt=[{"type": "text", "text": QUESTION}]
        )
        _expect("end_turn", ended)
        chunks = (one.get("params", {}).get("update", {}) for one in pipe.told)
        said = [one["content"]["text"] for one in chunks if one.get("sessionUpdate") == "agent_message_chunk"]
        _expect(ANSWER, "".join(said))
        _expect(session, await pipe.ask("session/list"))
        await _tool_cards(pipe, session)


async def _tool_cards(pipe: Pipe, session: str) -> None:
    """Of a tool that runs a card is shown, and that it ended well."""
    already = len(pipe.told)
    await pipe.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "list my sessions"}])
    updates = [one.get("params", {}).get("update", {}) for one in pipe.told[already:]]
    begun = {one["toolCallId"] for one in updates if one.get("sessionUpdate") == "tool_call"}
    ended = {
        one["toolCallId"]
        for one in updates
        if one.get("sessionUpdate") == "tool_call_update" and one.get("status") == "completed"
    }
    if not begun or begun != ended:
        raise Failed(f"tools began as {sorted(begun)} and ended as {sorted(ended)}")


async def tool_server(client: Client) -> None:
    """As another agent's tools. It lists chats of channels only; what was said elsewhere it reads by its key."""
    said = {"sessionKey": MAIN, "message": QUESTION, "idempotencyKey": "interop-3"}
    async with piping(client, "mcp", "serve") as pipe:
        about = {"name": "interop", "version": "1"}
        await pipe.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo=about)
        pipe.tell("notifications/initialized")
        _expect("conversations_list", await pipe.ask("tools/list"))
        listed = await pipe.ask("tools/call", name="conversations_list", arguments={})
        if listed.get("isError") or not isinstance(listed["structuredContent"]["conversations"], list):
            raise Failed(f"no conversations were listed: {json.dumps(listed)[-500:]}")
        _expect("interop-3", await _call(client, "chat.send", **said))
        _expect('"ok"', await _call(client, "agent.wait", runId="interop-3", timeoutMs=60_000))
        read = await pipe.ask("tools/call", name="messages_read", arguments={"session_key": MAIN})
        _expect(ANSWER, read)


DRIVES = {
    "frames": frames,
    "command line": command_line,
    "terminal chat": terminal_chat,
    "editor bridge": editor_bridge,
    "tool server": tool_server,
}


def _calling(method: str, params: dict[str, Any]) -> tuple[str, ...]:
    return ("gateway", "call", method, "--params", json.dumps(params), "--json")


async def _call(client: Client, method: str, **params: Any) -> str:
    return await _ran(client, *_calling(method, params), *client.door)


async def _ran(client: Client, *arguments: str) -> str:
    given = arguments if "--url" in arguments else (*arguments, *client.door)
    return await _run(client, *client.command(*given))


async def _run(client: Client, *command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(client.environment),
        cwd=Path(client.home),
    )
    printed = (await process.communicate())[0].decode(errors="replace")
    if process.returncode != 0:
        raise Failed(f"{Path(command[0]).name} ended with {process.returncode}: {printed[-500:]}")
    return printed


async def _until(client: Client, screen: list[str], text: str) -> None:
    shown = ""
    try:
        while text not in " ".join(shown.split()):
            await asyncio.sleep(LOOK_S)
            shown = await _run(client, *screen, "capture-pane", "-p")
    except asyncio.CancelledError:
        raise Failed(f"{text!r} did not come; the screen shows: {' '.join(shown.split())[-500:]}") from None


def _expect(wanted: str, answer: object) -> None:
    found = answer if isinstance(answer, str) else json.dumps(answer)
    if wanted not in found:
        raise Failed(f"{wanted!r} is not in {found[-500:]}")
