"""A model in a process of its own, without latency but where that is wanted: the name of the model asked says how it answers.

python -m bench.model_process: prints its base URL, and ends with its standard input.
"""

import asyncio
import sys

import anyio

from bench.scale import size
from roost.core.jsonvalue import JsonValue
from roost.core.messages import ToolCall
from roost.core.sentinels import Sentinel
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import CallTool, Hang, Say, Until


def _call(tool: str, number: int, **arguments: JsonValue) -> CallTool:
    return CallTool(ToolCall(id=f"c{number}", name=tool, arguments=arguments))


HANGS, SLOW = "hangs", "slow"
SLOW_S = 0.2
CROWD = size(100, 3)
SENDS = {f"sends-{number}": f"target-{number}" for number in range(6)}
SPAWNS = {f"spawns-{count}": count for count in (1, CROWD)}
REPLIES = {str(chunks): reply_of([Say("word ")] * chunks) for chunks in (4, 1_000)} | {
    HANGS: reply_of([Hang()])
}

SILENCE = reply_of([Say(Sentinel.NO_REPLY)])
CALLS = {
    model: reply_of([_call("sessions_spawn", number, task="Find it out.") for number in range(count)])
    for model, count in SPAWNS.items()
} | {
    model: reply_of(
        [_call("sessions_send", 0, sessionKey=f"desk:direct:{target}", message="How far are you?")]
    )
    for model, target in SENDS.items()
}


def reply(asked: Asked) -> Reply:
    """A model that calls tools does so when it is asked, and then says nothing."""
    model, messages = str(asked.body["model"]), asked.body["messages"]
    if model == SLOW:
        return slowly()
    if model not in CALLS:
        return REPLIES[model]
    assert isinstance(messages, list)
    return SILENCE if messages[-1]["role"] == "tool" else CALLS[model]


def slowly() -> Reply:
    ready = anyio.Event()
    asyncio.get_running_loop().call_later(SLOW_S, ready.set)
    return reply_of([Until(ready), Say("word")])


async def main() -> None:
    async with FakeOpenAI(otherwise=reply) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
