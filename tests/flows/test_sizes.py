"""What is too large for others to be told is not taken in, and nobody's conversation becomes too large to be read."""

import pytest

from roost.core.effects import AppendEntries
from roost.core.entries import EntryDraft
from roost.core.messages import Image, Provenance, ProvenanceKind, UserMessage
from roost.protocol.families.cron import LONGEST_EVENT
from roost.protocol.frames import encode
from roost.protocol.handshake import MAX_PAYLOAD
from roost.testing.builders import MAIN
from roost.testing.scripts import Hang, Say
from roost.testing.wires import Refused
from tests.flows.served import Opened, send
from tests.flows.test_http import COMPLETIONS, asked, enable

LARGE = "n" * 513


@pytest.mark.requirement("S23")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("chat.send", send("hi", LARGE)),
        ("sessions.send", {"key": "main", "message": "hi", "idempotencyKey": LARGE}),
        ("sessions.create", {"message": "hi", "idempotencyKey": LARGE}),
        ("agent", {"message": "hi", "idempotencyKey": LARGE}),
        ("send", {"to": "7", "message": "hi", "idempotencyKey": LARGE}),
        ("wake", {"mode": "now", "text": "w" * (LONGEST_EVENT + 1)}),
        ("chat.inject", {"sessionKey": "main", "message": "w" * 1_000_001}),
        ("chat.inject", {"sessionKey": "main", "message": "w", "label": LARGE}),
    ],
)
async def test_what_would_be_too_large_for_everybody_who_listens_is_refused(
    opened: Opened, method: str, params: dict[str, object]
) -> None:
    async with opened() as (gate, client):
        with pytest.raises(Refused, match=r"should have at most [0-9]+ characters"):
            await client.call(method, params)
        assert (await client.call("sessions.list"))["sessions"] == []
        assert gate.bench.model.requests == []


@pytest.mark.requirement("S23")
async def test_a_question_over_http_has_no_endless_name_either(opened: Opened) -> None:
    async with opened() as (gate, _), gate.browser(**{"Idempotency-Key": LARGE}) as http:
        await enable(gate)
        answer = await http.post(COMPLETIONS, json=asked("hi"))
        assert answer.status_code == 400
        assert "at most 512 characters" in answer.text
        assert gate.bench.model.requests == []


@pytest.mark.requirement("S23", "P26")
async def test_a_conversation_is_read_and_heard_whatever_stands_in_it(opened: Opened) -> None:
    pictures = (Image(mime="image/png", data="A" * (7 << 20)),) * 4
    who = Provenance(kind=ProvenanceKind.HUMAN)
    async with opened() as (gate, client):
        gate.bench.model.add((Say("fine"),), (Say("well"),))
        await client.call("sessions.messages.subscribe", {"key": "main"})
        await client.call("chat.send", send("hi", "run-1"))
        await client.event("chat", state="final", runId="run-1")
        large = EntryDraft(id="large", body=UserMessage(content=pictures, at=1, provenance=who))
        await gate.bench.store.change_session(MAIN, lambda _: (AppendEntries(key=MAIN, drafts=(large,)),))
        heard = await client.event("session.message", messageId="large")
        assert len(encode(heard)) < MAX_PAYLOAD
        for method, params in (
            ("chat.history", {"sessionKey": "main", "maxBytes": 10**9}),
            ("chat.startup", {"sessionKey": "main"}),
            ("sessions.get", {"key": "main"}),
            ("sessions.timeline", {"key": "main"}),
        ):
            answer = await client.call(method, params)
            assert answer["messages"][-1]["content"][0]["type"] == "image"
            assert len(encode(answer)) < MAX_PAYLOAD
        older = await client.call("chat.history", {"sessionKey": "main", "offset": 1})
        assert [row["role"] for row in older["messages"]] == ["user", "assistant"]


@pytest.mark.requirement("S23")
async def test_of_what_waits_so_much_is_shown_as_fits_and_the_rest_on_the_page_before(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Hang(),))
        await client.call("chat.send", send("hi", "run-0"))
        await gate.bench.model.asked(1)
        for name in ("one", "two", "three", "four"):
            words = name + "字" * 500_000
            await client.call("chat.send", send(words, name, queueMode="followup"))
        wide = {"sessionKey": "main", "maxChars": 500_000}
        newest = (await client.call("chat.history", wide))["pendingInputs"]
        assert [one["runId"] for one in newest["items"]] == ["three", "four"]
        assert (newest["total"], newest["nextBefore"]) == (4, 3)
        older = await client.call("chat.history", {**wide, "pendingBefore": newest["nextBefore"]})
        assert [one["runId"] for one in older["pendingInputs"]["items"]] == ["one", "two"]
        await client.call("chat.abort", {"sessionKey": "main"})
