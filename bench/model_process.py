"""A model in a process of its own, without latency: the name of the model asked says how it answers.

python -m bench.model_process: prints its base URL, and ends with its standard input.
"""

import asyncio
import sys

from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Hang, Say

HANGS = "hangs"
REPLIES = {str(chunks): reply_of([Say("word ")] * chunks) for chunks in (4, 1_000)} | {
    HANGS: reply_of([Hang()])
}


def reply(asked: Asked) -> Reply:
    return REPLIES[str(asked.body["model"])]


async def main() -> None:
    async with FakeOpenAI(otherwise=reply) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
