"""A key that is known stands for what was asked under it, and for nothing else."""

from pathlib import Path
from typing import Any

import pytest

from roost.core.keys import SessionKey
from roost.core.queries import HistoryQuery
from roost.core.seals import Seals
from roost.testing.scripts import Hang, Say
from roost.testing.wires import LocalClient, Refused
from tests.flows.gateways import ADA, BOB, benches, place
from tests.flows.served import Opened, gate_of, send
from tests.flows.test_http import COMPLETIONS, asked, enable

PICTURE = {"type": "image", "mimeType": "image/png", "content": "iVBORw0KGgo="}
SECRET = "sk-live-0123456789abcdef"


async def refused(client: LocalClient, method: str, params: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="used before") as error:
        await client.call(method, params)
    told = error.value.error
    assert (told["code"], told["details"]["code"]) == ("INVALID_REQUEST", "conflict")
    assert "a key of its own" in told["details"]["hint"]
    assert "retryable" not in told


@pytest.mark.requirement("P3", "P6")
async def test_other_words_under_a_known_key_are_refused_and_the_same_ones_answered_as_ever(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("well"), Hang()), (Say("fine"),))
        await client.call("chat.send", send("how are you?", "k"))
        await gate.bench.model.asked(1)
        assert (await client.call("chat.send", send("how are you?", "k")))["status"] == "in_flight"
        for other in (
            send("how is she?", "k"),
            send("/status", "k"),
            send("how are you?", "k", attachments=[PICTURE]),
        ):
            await refused(client, "chat.send", other)
        await refused(client, "sessions.send", {"key": "main", "message": "and?", "idempotencyKey": "k"})
        await refused(client, "agent", {"message": "and?", "idempotencyKey": "k"})
        # What was refused took nothing from the one who began the run.
        assert [one.began for one in gate.house.clients] == [{(SessionKey.named("main", "main"), "k")}]
        await client.call("chat.abort", {"sessionKey": "main"})
        await client.event("chat", state="aborted")
        assert (await client.call("chat.send", send("how are you?", "k")))["status"] == "ok"
        await refused(client, "chat.send", send("how is she?", "k"))
        assert (await client.call("chat.send", send("how is she?", "k2")))["status"] == "started"
        await client.event("chat", runId="k2", state="final")
        elsewhere = await client.call("chat.send", send("another", "k", sessionKey="side"))
        assert elsewhere["status"] == "started"


@pytest.mark.requirement("P3", "P14")
async def test_a_message_that_is_kept_in_other_words_is_known_again_after_a_restart_too(
    tmp_path: Path,
) -> None:
    said = (
        send(f"use {SECRET} for it", "sealed"),
        send("/think:high and say hi", "command"),
        send("/status", "answered"),
        send("look", "picture", attachments=[PICTURE]),
    )
    async with benches("sqlite", tmp_path) as bench:
        bench.store.keep_out(Seals({SECRET: "providers.p.apiKey"}))
        for life in (1, 2):
            async with gate_of(bench, tmp_path) as gate, gate.client() as client:
                gate.bench.model.otherwise = (Say("done"),)
                for one in said:
                    told = await client.call("chat.send", one)
                    assert told["status"] in ({"started"} if life == 1 else {"ok"}), one
                    await gate.engine.settled()
                    assert (await client.call("chat.send", one))["status"] == "ok"
                    await refused(client, "chat.send", {**one, "message": "something else"})
        key = SessionKey.named("main", "main")
        page = await bench.store.history(HistoryQuery(key=key))
        assert SECRET not in repr(page.entries)


@pytest.mark.requirement("P3", "P14")
async def test_a_message_to_another_place_or_in_other_words_is_another_message(opened: Opened) -> None:
    async with opened() as (gate, client):
        first = {"to": "bob", "message": "Dinner at eight?", "idempotencyKey": "1"}
        told = await client.call("send", first)
        await refused(client, "send", {**first, "to": "ada"})
        await refused(client, "send", {**first, "message": "Dinner at nine?"})
        other = {"to": "ada", "message": "Dinner at eight?"}
        await refused(
            client,
            "message.action",
            {"channel": "loopback", "action": "send", "params": other, "idempotencyKey": "1"},
        )
        assert await client.call("send", first) == told
        assert gate.bench.channel.replies(place(BOB)) == ("Dinner at eight?",)
        assert gate.bench.channel.replies(place(ADA)) == ()
        assert (await client.call("send", {**first, "to": "ada", "idempotencyKey": "2"}))[
            "state"
        ] == "confirmed"


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("user", [{}, {"user": "ada"}])
async def test_another_question_under_a_known_key_is_a_conflict_also_where_the_answer_is_a_stream(
    opened: Opened, user: dict[str, object]
) -> None:
    async with opened() as (gate, _), gate.browser(**{"Idempotency-Key": "a1"}) as http:
        await enable(gate)
        gate.bench.model.add((Say("four"),))
        for stream in (False, True):
            answer = await http.post(COMPLETIONS, json=asked("two and two?", stream=stream, **user))
            assert "four" in answer.text
        for stream in (False, True):
            answer = await http.post(COMPLETIONS, json=asked("three and three?", stream=stream, **user))
            assert answer.status_code == 409
            assert answer.json()["error"]["type"] == "conflict"
            assert "a key of its own" in answer.json()["error"]["message"]
        assert len(gate.bench.model.requests) == 1
