import json
from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest

from roost.channels.webhook import WebhookChannel
from roost.core.addresses import Address
from roost.core.channels import Knowledge
from roost.core.deliveries import Confirmed, Postponed, Rejected, SendResult, Unknown
from roost.core.envelopes import Envelope
from roost.core.errors import Forbidden
from roost.ports import Unanswered, Unreached
from roost.testing.builders import delivery

SENT = replace(
    delivery("d1", address=Address(channel="webhook", to="https://example.org/in"), text="sunny"), run_id="r"
)


class Out:
    def __init__(self, answer: int | Exception) -> None:
        self.answer = answer
        self.posted: list[tuple[str, bytes, Mapping[str, str]]] = []

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        self.posted.append((url, body, headers))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (204, Confirmed(receipt="204")),
        (303, Confirmed(receipt="303")),
        *((status, Unknown(error=f"it answered {status}")) for status in (408, 500, 502, 504)),
        (503, Postponed(ready_at=0, error="it answered 503")),
        (429, Postponed(ready_at=0, error="it answered 429")),
        (404, Rejected(error="it answered 404")),
        (302, Rejected(error="it answered 302")),
        (Unreached("nobody there"), Postponed(ready_at=0, error="nobody there")),
        (Forbidden("a private address"), Rejected(error="a private address")),
        (Unanswered("no answer came"), Unknown(error="no answer came")),
    ],
)
async def test_what_became_of_a_message_follows_from_the_answer(
    answer: int | Exception, result: SendResult
) -> None:
    assert await WebhookChannel(Out(answer)).send(SENT) == result


async def test_a_message_is_posted_with_a_name_it_keeps() -> None:
    out = Out(200)
    await WebhookChannel(out).send(SENT)
    ((url, body, headers),) = out.posted
    assert (url, headers["Idempotency-Key"]) == ("https://example.org/in", "d1")
    told = json.loads(body)
    assert (told["text"], told["sessionKey"], told["runId"], told["kind"]) == (
        "sunny",
        "agent:main:main",
        "r",
        "reply",
    )


async def test_nobody_writes_from_there_and_nobody_can_be_asked() -> None:
    channel = WebhookChannel(Out(200))
    heard: list[Envelope] = []

    async def receive(envelope: Envelope) -> None:
        heard.append(envelope)

    with anyio.move_on_after(0):
        await channel.run(receive)
    assert heard == []
    assert await channel.ask(SENT) is Knowledge.UNKNOWN
