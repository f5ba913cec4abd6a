"""Whatever a client sends over its connection, each request is answered once, and nothing breaks."""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.jsonvalue import JsonValue
from roost.protocol.errors import BROKEN
from roost.protocol.frames import parse
from roost.protocol.methods import METHODS
from roost.testing.scripts import Say
from tests.flows.guards import CAROLS, id_of, plant
from tests.flows.served import gates
from tests.property.schemas import ANY, TEXT, Schema
from tests.scale import examples

SCOPES = [
    *("operator.admin", "operator.read", "operator.write", "operator.pairing"),
    *("operator.approvals", "operator.questions", "operator.tools.sessions"),
]
WORDS = (
    *(
        "main",
        "agent:main:main",
        str(CAROLS),
        "agent:main:subagent:owner-inner",
        id_of(CAROLS),
        "current",
        "global",
    ),
    *(
        "r1",
        "r2",
        "r3",
        "hello",
        "/status",
        "/reset",
        "/stop",
        "canary",
        "helper",
        "scripted/two",
        "high",
        "7d",
    ),
    *(
        "2026-01-31",
        "0001-01-01",
        "9999-12-31",
        "../../etc/passwd",
        "agent:main:../x",
        "\x00",
        "agent:",
        "%2e%2e",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    method: str
    params: JsonValue


def _asked(name: str) -> st.SearchStrategy[Asked]:
    fitting = Schema(METHODS[name].params.model_json_schema(), WORDS).values()
    return st.builds(Asked, method=st.just(name), params=st.one_of(fitting, fitting, fitting, ANY))


ASKED = st.sampled_from(sorted(METHODS)).flatmap(_asked)
PIECES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["req", "res", "event"]) | ANY,
        "id": TEXT | ANY,
        "method": st.sampled_from(["health", "connect", "sessions.list"]) | ANY,
        "params": ANY,
        "traceparent": TEXT | ANY,
        "more": ANY,
    },
)
FRAMES = st.one_of(PIECES.map(json.dumps), ANY.map(json.dumps), TEXT, st.binary(max_size=30))


async def answered(folder: Path, requests: list[Asked]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Every answer to each of these, sent without waiting for one another, after all has come to rest."""
    with anyio.fail_after(120):
        async with gates("sqlite", folder) as gate, gate.client(scopes=SCOPES) as client:
            gate.bench.model.otherwise = (Say("yes"),)
            await plant(gate.house.store)
            sent = [client.send(one.method, one.params) for one in requests]
            for name in sent:
                await client.answer(name, 2 if _goes_on(await client.answer(name)) else 1)
            await gate.engine.settled()
            await client.call("health")
            return [(one.method, client.answers(name)) for one, name in zip(requests, sent, strict=True)]


def _goes_on(answer: dict[str, Any]) -> bool:
    """Whether a run was taken on, of whose end there is another answer."""
    payload = answer.get("payload")
    return isinstance(payload, dict) and payload.get("status") == "accepted"


@settings(deadline=None, max_examples=examples(20, 1_000))
@given(st.lists(ASKED, min_size=1, max_size=20))
def test_every_request_is_answered_once_whatever_it_asks(requests: list[Asked]) -> None:
    with TemporaryDirectory() as folder:
        for method, answers in asyncio.run(answered(Path(folder), requests)):
            assert len(answers) == 1 or (method == "agent" and len(answers) == 2), answers
            assert BROKEN.message not in str(answers), (method, answers)


async def spoken(folder: Path, frames: list[str | bytes]) -> list[dict[str, Any]]:
    with anyio.fail_after(120):
        async with gates("memory", folder) as gate, gate.client() as client:
            for frame in frames:
                client.wire.to_gateway.send_nowait(frame)
            await client.call("health")
            return client.answers("invalid")


@settings(deadline=None, max_examples=examples(25, 2_000))
@given(st.lists(FRAMES, max_size=10))
def test_what_is_no_request_leaves_the_connection_as_it_was(frames: list[str | bytes]) -> None:
    with TemporaryDirectory() as folder:
        assert BROKEN.message not in str(asyncio.run(spoken(Path(folder), frames)))


PIECES = st.sampled_from(
    [r"\ud83d", r"\ude00", r"\uD83D", r"\uDE00", "\\\\", r"\"", r"\n", r"\u0041", "u", "d83d", "é", "😀"]
)


@given(st.lists(PIECES, max_size=12))
def test_of_every_half_a_character_its_place_is_left_and_of_nothing_else(pieces: list[str]) -> None:
    text = f'"{"".join(pieces)}"'
    said = json.loads(text)
    assert parse(text) == parse(text.encode()) == re.sub(r"[\ud800-\udfff]", "\ufffd", said)
