"""Webhooks from outside to what agents do by them."""

import hmac
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from roost.core.hooks import Action, HookMapping, HookRules, Scheme
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, UserMessage, text_of
from roost.core.models import FailureKind
from roost.core.queries import SessionQuery
from roost.core.room import Room
from roost.core.secrets import Secret
from roost.testing.scripts import Fail, Say
from tests.flows.served import Gate, gates, send
from tests.scale import count

TOKEN, SIGNING = "hook-token-0123456789", "signing-secret"
MAIN = SessionKey.named("main", "main")
RULES = HookRules(
    token=Secret(TOKEN),
    per_minute=10_000,
    prefixes=("hook:",),
    mappings={
        "gh": HookMapping(message="{{repo}} broke", secret=Secret(SIGNING), session_key="hook:{{repo}}"),
        "ts": HookMapping(message="{{repo}}", secret=Secret(SIGNING), scheme=Scheme.TIMESTAMP),
        "door": HookMapping(message="{{who}} rings", action=Action.WAKE),
    },
)


@asynccontextmanager
async def hooked(kind: str, folder: Path, rules: HookRules = RULES) -> AsyncIterator[Gate]:
    async with gates(kind, folder) as gate:
        old = gate.engine.rules
        await gate.engine.reload(replace(old, house=replace(old.house, hooks=rules)))
        yield gate


async def post(gate: Gate, name: str, payload: object, *, token: str | None = TOKEN, **headers: str) -> Any:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    async with gate.browser(token) as browser:
        return await browser.post(f"/hooks/{name}", content=body, headers=named)


def signed(body: bytes, stamp: str | None = None) -> str:
    text = body if stamp is None else f"{stamp}.".encode() + body
    return "sha256=" + hmac.new(SIGNING.encode(), text, sha256).hexdigest()


async def sessions(gate: Gate) -> list[str]:
    page = await gate.bench.store.list_sessions(SessionQuery(limit=5_000))
    return sorted(str(row.key) for row in page.rows)


@pytest.mark.requirement("D04")
@pytest.mark.requirement("S18")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_call_begins_a_turn_in_a_session_of_its_own_and_is_nobodys_word(
    kind: str, tmp_path: Path
) -> None:
    async with hooked(kind, tmp_path) as gate:
        gate.bench.model.add((Say("noted"),))
        answer = await post(gate, "agent", {"message": "the build broke"}, idempotency_key="d1")
        assert answer.status_code == 200
        told = answer.json()
        assert told["ok"] is True
        await gate.engine.settled()
        key = SessionKey.parse(told["sessionKey"])
        assert str(key).startswith("agent:main:hook:")
        run = await gate.bench.store.run(told["runId"])
        assert run is not None
        assert run.cause.kind is ProvenanceKind.HOOK
        assert not run.cause.by_owner
        (request,) = gate.bench.model.requests
        assert "[Hook event] sourceTool=hook:agent isUser=false" in text_of(request.messages[-1])
        again = await post(gate, "agent", {"message": "the build broke"}, idempotency_key="d1")
        assert again.json() == {**told, "duplicate": True}
        assert await sessions(gate) == [str(key)]


@pytest.mark.requirement("S23")
async def test_a_hook_opens_no_session_and_fills_none_beyond_the_room_there_is(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path, replace(RULES, names_sessions=True)) as gate:
        gate.bench.model.add((Say("noted"),))
        asked = {"message": "the build broke", "sessionKey": "hook:build"}
        assert (await post(gate, "agent", asked)).status_code == 200
        await gate.engine.settled()
        old = gate.engine.rules
        for room, what in (
            (Room(sessions=1), {"message": "another broke"}),
            (Room(entries=2), asked),
        ):
            await gate.engine.reload(replace(old, house=replace(old.house, room=room)))
            refused = await post(gate, "agent", what)
            assert refused.status_code == 503
            assert "which is all" in refused.text
        assert await sessions(gate) == ["agent:main:hook:build"]
        assert len(gate.bench.model.requests) == 1


async def test_an_event_waits_for_the_owners_next_message_and_keeps_them_from_acting_by_it(
    tmp_path: Path,
) -> None:
    async with hooked("memory", tmp_path) as gate, gate.client() as client:
        gate.bench.model.add((Say("hello"),), (Say("a visitor"),))
        await client.call("chat.send", send("hi", "one"))
        await gate.engine.settled()
        before = await gate.bench.store.session(MAIN)
        rings = await post(gate, "door", {"who": "Ada"}, x_delivery_id="r1")
        assert rings.json() == {"ok": True, "mode": "now", "eventOutcome": "queued"}
        assert (await post(gate, "door", {"who": "Ada"}, x_delivery_id="r1")).json()["duplicate"] is True
        woken = await post(gate, "wake", {"text": "it rains", "mode": "next-heartbeat"})
        assert woken.json()["mode"] == "next-heartbeat"
        after = await gate.bench.store.session(MAIN)
        assert before is not None
        assert after is not None
        assert (after.route, after.origin, after.times.interacted) == (
            before.route,
            before.origin,
            before.times.interacted,
        )
        await client.call("chat.send", send("who is there?", "two"))
        await gate.engine.settled()
        entries = await gate.bench.store.entries(after.session_id, after=2)
        said = [text_of(entry.body) for entry in entries if isinstance(entry.body, UserMessage)]
        assert said == ["who is there?", "Ada rings", "it rains"]


@pytest.mark.requirement("S18")
@pytest.mark.requirement("P14")
async def test_each_of_many_deliveries_is_one_run_however_often_it_comes_and_across_restarts(
    tmp_path: Path,
) -> None:
    deliveries, chance = count(24, 1_000), random.Random(8)
    calls = [name for name in range(deliveries) for _ in range(chance.randint(1, 4))]
    chance.shuffle(calls)
    runs: dict[int, str] = {}
    lives = count(3, 8)
    for life in range(lives):
        async with hooked("sqlite", tmp_path) as gate:
            gate.bench.model.add(*[lambda request: (Say("ok"),)] * deliveries)
            for name in calls[life::lives]:
                answer = await post(
                    gate, "agent", {"message": f"number {name}"}, x_github_delivery=f"d{name}"
                )
                told = answer.json()
                assert told["ok"] is True, told
                assert runs.setdefault(name, told["runId"]) == told["runId"]
            await gate.engine.settled()
    assert len(set(runs.values())) == deliveries
    async with hooked("sqlite", tmp_path) as gate:
        assert len(await sessions(gate)) == deliveries


async def test_a_signed_delivery_that_comes_again_is_answered_with_its_first_run(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.add((Say("one"),), (Say("two"),))
        body = b'{"repo":"roost"}'
        as_github = {"x_hub_signature_256": signed(body), "x_github_delivery": "1"}
        first = await post(gate, "gh", body, token=None, **as_github)
        assert first.json()["sessionKey"] == "agent:main:hook:roost"
        again = await post(gate, "gh", body, token=None, **as_github)
        assert again.json() == {**first.json(), "duplicate": True}
        now = gate.bench.clock.now() // 1000
        runs = set()
        for stamp in (f"{now - 5}", f"{now}"):
            signs = signed(body, f"{stamp}.d1")
            timed = await post(
                gate, "ts", body, token=None, x_timestamp=stamp, x_signature=signs, x_delivery_id="d1"
            )
            runs.add(timed.json()["runId"])
        assert len(runs) == 1
        await gate.engine.settled()
        assert len(gate.bench.model.requests) == 2


@pytest.mark.requirement("S18")
async def test_a_replayed_signature_is_refused_with_its_reason_after_a_restart_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = b'{"repo":"roost"}'
    async with hooked("sqlite", tmp_path) as gate:
        gate.bench.model.add((Say("one"),), (Say("two"),))
        stamp = str(gate.bench.clock.now() // 1000)
        timed = {"x_timestamp": stamp, "x_signature": signed(body, stamp)}
        github = {"x_hub_signature_256": signed(body)}
        assert (await post(gate, "ts", body, token=None, **timed)).status_code == 200
        assert (await post(gate, "gh", body, token=None, **github, x_github_delivery="1")).status_code == 200
        await gate.engine.settled()
        kept = await sessions(gate)
    async with hooked("sqlite", tmp_path) as gate:
        for name, shown in (
            ("ts", timed),
            ("ts", {**timed, "x_delivery_id": "other"}),
            ("gh", github),
            ("gh", {**github, "x_github_delivery": "2"}),
        ):
            answer = await post(gate, name, body, token=None, **shown)
            assert (answer.status_code, answer.json()["code"]) == (409, "replayed"), name
            assert "used before" in answer.json()["error"]
        await gate.engine.settled()
        assert (await sessions(gate), gate.bench.model.requests) == (kept, [])
        told = [line for line in caplog.messages if "was refused: this signature was used before" in line]
        assert [line.split(":")[0] for line in told] == ["hook ts", "hook ts", "hook gh", "hook gh"]


async def test_who_replays_again_and_again_is_held_off(tmp_path: Path) -> None:
    body = b'{"repo":"roost"}'
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.add((Say("one"),))
        answers = [
            (await post(gate, "gh", body, token=None, x_hub_signature_256=signed(body))).status_code
            for _ in range(22)
        ]
        assert answers == [200, *[409] * 20, 429]


async def test_who_replays_one_call_takes_nothing_from_those_who_sign_their_own(tmp_path: Path) -> None:
    old, new = b'{"repo":"roost"}', b'{"repo":"other"}'
    async with hooked("memory", tmp_path, replace(RULES, per_minute=2)) as gate:
        gate.bench.model.otherwise = (Say("ok"),)
        for _ in range(30):
            await post(gate, "gh", old, token=None, x_hub_signature_256=signed(old))
        answer = await post(gate, "gh", new, token=None, x_hub_signature_256=signed(new))
        assert answer.status_code == 200


def deep(levels: int) -> bytes:
    return b'{"message":' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.requirement("S11")
@pytest.mark.requirement("S21")
@pytest.mark.parametrize(
    ("name", "payload", "asked", "status", "told"),
    [
        ("agent", {"message": "x"}, {"token": None}, 401, "token"),
        ("agent", {"message": "x"}, {"token": ""}, 401, "token"),
        ("agent", {"message": "x"}, {"token": "secret-token"}, 401, "token"),
        ("gh", {"repo": "x"}, {"x_hub_signature_256": ""}, 401, "signature"),
        ("gh", b"{}", {"x_hub_signature_256": signed(b"[]")}, 401, "signature"),
        (
            "ts",
            b"{}",
            {"x_timestamp": "1000000000", "x_signature": signed(b"{}", "1000000000")},
            401,
            "too old",
        ),
        ("agent", {}, {}, 400, "message required"),
        ("agent", b"{", {}, 400, "not JSON"),
        ("agent", deep(200), {}, 400, "deeper"),
        ("agent", b'{"message":"' + b"x" * 10_000_000 + b'"}', {}, 413, "longer"),
        ("agent", {"message": "x", "name": "n" * 513}, {}, 400, "name has at most 512 characters"),
        ("agent", {"message": "x", "sessionKey": "main"}, {}, 403, "allowRequestSessionKey"),
        ("agent", {"message": "x", "agentId": "helper"}, {}, 403, "allowedAgentIds"),
        ("agent", {"message": "x", "to": "7", "channel": "telegram"}, {}, 400, "unexpected property"),
        ("gh", b'{"repo":"x:thread:1"}', {"signs": "yes"}, 200, ""),
        ("nothing", {}, {}, 404, "no hook"),
    ],
)
async def test_a_hostile_call_is_refused_with_its_reason_and_nothing_is_created(
    tmp_path: Path, name: str, payload: object, asked: dict[str, Any], status: int, told: str
) -> None:
    async with hooked("memory", tmp_path) as gate:
        if asked.pop("signs", None):
            assert isinstance(payload, bytes)
            gate.bench.model.add((Say("ok"),))
            asked["x_hub_signature_256"] = signed(payload)
        answer = await post(gate, name, payload, **asked)
        assert answer.status_code == status
        if status == 200:
            assert answer.json()["sessionKey"].startswith("agent:main:hook:")
            return
        assert told in answer.json()["error"]
        assert await sessions(gate) == []
        assert gate.bench.model.requests == []


async def test_a_call_may_name_a_time_of_any_size(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.otherwise = (Say("ok"),)
        answer = await post(gate, "agent", b'{"message":"x","timeoutSeconds":1e308}')
        assert answer.status_code == 200


@pytest.mark.requirement("S11")
async def test_a_payload_cannot_spell_its_way_into_another_session(tmp_path: Path) -> None:
    spells = replace(RULES, mappings={"gh": HookMapping(message="x", session_key="{{key}}")})
    async with hooked("memory", tmp_path, spells) as gate:
        for key in ("main", "agent:main:main", "hook", "telegram:direct:7", "", "{{key}}", "cron:j:run:1"):
            answer = await post(gate, "gh", {"key": key})
            assert answer.status_code == 400, key
        assert await sessions(gate) == []


async def test_hooks_that_are_not_configured_are_not_there(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path, HookRules()) as gate:
        assert (await post(gate, "agent", {"message": "x"})).status_code == 404


async def test_a_token_in_the_address_is_refused(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path) as gate, gate.browser(None) as browser:
        answer: httpx2.Response = await browser.post(f"/hooks/agent?token={TOKEN}", json={"message": "x"})
        assert (answer.status_code, await sessions(gate)) == (400, [])
        assert (await browser.get("/hooks/agent")).status_code == 405


@pytest.mark.requirement("S23")
async def test_who_is_wrong_or_calls_too_often_waits_and_is_told_of_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with hooked("memory", tmp_path, replace(RULES, per_minute=2)) as gate:
        gate.bench.model.add((Say("ok"),), (Say("ok"),))
        answers = [(await post(gate, "agent", {"message": "x"})).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        wrong = [(await post(gate, "agent", {"message": "x"}, token="guess")).status_code for _ in range(21)]
        assert wrong == [401] * 20 + [429]
    (told,) = [line for line in caplog.messages if "turned away" in line]
    assert told == "turned away: HOOK_NOT_PROVEN from 127.0.0.1; if it should come in, see `hooks`"


@pytest.mark.requirement("S2")
async def test_wrong_tokens_from_an_address_do_not_lock_out_the_right_one(tmp_path: Path) -> None:
    body = b'{"repo":"roost"}'
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.otherwise = (Say("ok"),)
        wrong = [(await post(gate, "agent", {"message": "x"}, token="guess")).status_code for _ in range(30)]
        assert wrong == [401] * 20 + [429] * 10
        assert (await post(gate, "agent", {"message": "x"})).status_code == 200
        answer = await post(gate, "gh", body, token=None, x_hub_signature_256=signed(body))
        assert answer.status_code == 200


async def test_an_answer_is_told_where_the_owner_was_last_met(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.add((Say("hi"),), (Say("the build broke"),))
        await gate.bench.say("hello")
        await gate.bench.replies()
        await post(gate, "agent", {"message": "tell", "deliver": True})
        assert await gate.bench.replies(at_least=2) == ("hi", "the build broke")
        await gate.engine.settled()
        main = await gate.bench.store.session(MAIN)
        assert main is not None
        entries = await gate.bench.store.entries(main.session_id)
        assert text_of(entries[-1].body) == "the build broke"  # type: ignore[arg-type]


async def test_who_waits_for_completion_is_told_how_it_ended_and_not_what_was_said(tmp_path: Path) -> None:
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.add((Say("a secret"),), (Fail(FailureKind.AUTH),))
        waiting = {"message": "the build broke", "waitForCompletion": True}
        answer = await post(gate, "agent", waiting, idempotency_key="d1")
        told = answer.json()
        assert (told["ok"], told["status"], "reason" in told) == (True, "ok", False)
        assert "secret" not in answer.text
        again = (await post(gate, "agent", waiting, idempotency_key="d1")).json()
        assert again == {**told, "duplicate": True}
        failed = (await post(gate, "agent", waiting, idempotency_key="d2")).json()
        assert (failed["status"], bool(failed["reason"])) == ("error", True)
        wrong = await post(gate, "agent", {**waiting, "waitForCompletion": "yes"})
        assert (wrong.status_code, "true or false" in wrong.json()["error"]) == (400, True)


async def test_a_call_belongs_to_the_trace_that_it_names(tmp_path: Path) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    named = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    async with hooked("memory", tmp_path) as gate:
        gate.bench.model.add((Say("noted"),))
        store = gate.bench.store
        begun = (await post(gate, "agent", {"message": "x", "waitForCompletion": True}, **named)).json()
        run = await store.run(begun["runId"])
        assert run is not None
        assert run.cause.trace == trace
        await post(gate, "wake", {"text": "look", "mode": "next-heartbeat"}, **named)
        async with gate.client() as client:
            said = {"text": "look", "mode": "next-heartbeat"}
            frame = {"type": "req", "id": "w", "method": "wake", "params": said, **named}
            client.wire.to_gateway.send_nowait(json.dumps(frame))
            assert (await client.answer("w"))["ok"]
        waiting = await store.pending_inputs(MAIN)
        assert [one.inbound.trace for one in waiting] == [trace, trace]
