"""What a spawn asks for, from the call of a configured gateway's model to what the model of the child is sent."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from roost.app.opening import open_engine
from roost.channels.loopback import LoopbackChannel
from roost.config import load
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.leases import Gateway
from roost.core.messages import ToolCall
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Say
from tests.flows.gateways import ADA, chat, place
from tests.parts import NeedPart

WISHES = {"model": "local/deep", "thinking": "high", "sandbox": "require", "context": "fork"}
EXEC = CallTool(ToolCall(id="e1", name="exec", arguments={"command": "echo inside"}))


def texts(asked: Asked, role: str) -> list[str]:
    """What the messages of one role say, in order."""
    messages: Any = asked.body["messages"]
    contents = [one["content"] for one in messages if one["role"] == role]
    return [one if isinstance(one, str) else "".join(part["text"] for part in one) for one in contents]


def is_child(asked: Asked) -> bool:
    return any("[Subagent Task]" in text for text in texts(asked, "user"))


def acting(wishes: dict[str, Any]) -> Callable[[Asked], Reply]:
    spawn = CallTool(ToolCall(id="s1", name="sessions_spawn", arguments={"task": "look around", **wishes}))

    def act(asked: Asked) -> Reply:
        results = texts(asked, "tool")
        if is_child(asked):
            # It begins with the call that spawned it.
            return reply_of((Say(results[-1]),) if len(results) > 1 else (EXEC,))
        return reply_of((Say("Begun."),) if results else (spawn,))

    return act


def configure(folder: Path, server: FakeOpenAI) -> None:
    models = [{"id": "small"}, {"id": "deep", "reasoning": True}]
    document = {
        "models": {"providers": {"local": {"baseUrl": server.base_url, "models": models}}},
        "agents": {"defaults": {"model": "local/small", "sandbox": {"mode": "non-main"}}},
    }
    (folder / "roost.json").write_text(json.dumps(document))


@pytest.mark.requirement("D65")
async def test_a_child_has_the_model_the_thinking_the_sandbox_and_the_context_it_was_asked_for_with(
    tmp_path: Path, need_part: NeedPart
) -> None:
    need_part("bubblewrap", present=which("bwrap") is not None, remedy="apt-get install bubblewrap")
    channel = LoopbackChannel()
    door = ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))
    async with FakeOpenAI(otherwise=acting(WISHES)) as server:
        configure(tmp_path, server)
        loaded = load({"ROOST_HOME": str(tmp_path)})
        async with (
            open_engine(loaded, [channel], {"loopback": door}) as engine,
            engine.serving(Gateway(name="flow", holder="flow")),
        ):
            await channel.say("please look", sender=ADA, chat=chat(ADA))
            announced = (await channel.wait_replies(place(ADA), 2))[-1]
        child = next(one for one in server.requests if is_child(one))
    assert (child.body["model"], child.body["reasoning_effort"]) == ("deep", "high")
    said = texts(child, "user")
    assert "please look" in said[0]
    assert "look around" in said[-1]
    assert not any("look around" in text for text in texts(child, "system"))
    assert announced.startswith("Status: success\nResult: ")
    assert "inside" in announced
