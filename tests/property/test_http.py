"""Whatever is sent to the gateway's port over HTTP, it answers, and never by breaking."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.jsonvalue import JsonValue
from roost.testing.scripts import Say
from tests.flows.served import gates
from tests.scale import examples

PATHS = (
    *("/healthz", "/health", "/readyz", "/ready", "/startupz", "/metrics", "/v1/models", "/v1/models/x"),
    *("/v1/chat/completions", "/tools/invoke", "/hooks/wake", "/", "/v1", "/v1/models/../x", "/%00"),
)
VERBS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
ANSWERS = frozenset({200, 400, 401, 403, 404, 405, 413, 429, 502, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    verb: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def _header(**known: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    visible = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
    return st.fixed_dictionaries(
        {},
        optional={
            name.replace("_", "-"): st.sampled_from(values) | visible for name, values in known.items()
        },
    )


HEADERS = _header(
    origin=("null", "http://127.0.0.1", "http://["),
    x_openclaw_scopes=("operator.write", "operator.tools.sessions,operator.write", ","),
    x_openclaw_session_key=("agent:main:main",),
    idempotency_key=("k",),
    traceparent=("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",),
    content_type=("application/json", "text/plain"),
)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ROLES = st.sampled_from(["user", "system", "assistant", "tool", "developer"]) | st.text(max_size=5)
PARTS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=10)})
    | st.fixed_dictionaries(
        {"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": st.text()})}
    )
    | JSON,
    max_size=2,
)
COMPLETION = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.fixed_dictionaries({"role": ROLES, "content": st.text(max_size=9) | PARTS | JSON}), max_size=3
        )
    },
    optional={
        "model": st.sampled_from(["openclaw", "openclaw/helper", "agent:main"]) | st.text(max_size=9),
        "user": st.text(max_size=12) | JSON,
        "stream": st.booleans() | JSON,
        "stream_options": JSON,
        "tools": JSON,
    },
)
CALL = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["exec", "read"]) | JSON,
        "args": JSON,
        "action": JSON,
        "sessionKey": st.sampled_from(["main", "global", "agent:main:x", "../../etc/passwd"])
        | st.text(max_size=20),
        "agentId": st.sampled_from(["main", "helper", "nobody"]) | JSON,
    },
)


def _dumped(body: object) -> bytes:
    return json.dumps(body).encode()


BODIES = st.binary(max_size=40) | JSON.map(_dumped)
SENT = st.one_of(
    st.builds(Sent, verb=st.sampled_from(VERBS), path=st.sampled_from(PATHS), body=BODIES, headers=HEADERS),
    st.builds(
        Sent,
        verb=st.just("POST"),
        path=st.just("/v1/chat/completions"),
        body=COMPLETION.map(_dumped),
        headers=HEADERS,
    ),
    st.builds(
        Sent, verb=st.just("POST"), path=st.just("/tools/invoke"), body=CALL.map(_dumped), headers=HEADERS
    ),
)


async def _answers(requests: list[tuple[Sent, bool]], folder: Path) -> list[int]:
    found = []
    with anyio.fail_after(60):
        async with gates("memory", folder) as gate:
            gate.bench.model.otherwise = (Say("yes"),)
            rules = gate.engine.rules
            await gate.engine.reload(replace(rules, house=replace(rules.house, completions=True)))
            for sent, known in requests:
                async with gate.browser("secret-token" if known else "wrong") as http:
                    answer = await http.request(sent.verb, sent.path, content=sent.body, headers=sent.headers)
                    found.append(answer.status_code)
    return found


@settings(deadline=None, max_examples=examples(15, 400))
@given(st.lists(st.tuples(SENT, st.integers(0, 4).map(bool)), min_size=1, max_size=12))
def test_nothing_that_is_sent_breaks_the_gateway(requests: list[tuple[Sent, bool]]) -> None:
    with TemporaryDirectory() as folder:
        assert ANSWERS.issuperset(asyncio.run(_answers(requests, Path(folder))))
