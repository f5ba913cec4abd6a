"""Whatever is sent to the gateway's port over HTTP, it answers, and never by breaking."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.jsonvalue import JsonValue
from roost.server.listening import bind, listener
from roost.testing.scripts import Say
from tests.flows.test_hooks import TOKEN, hooked
from tests.scale import examples

PATHS = (
    *("/healthz", "/health", "/readyz", "/ready", "/startupz", "/metrics", "/v1/models", "/v1/models/x"),
    *("/v1/chat/completions", "/tools/invoke", "/hooks/wake", "/", "/v1", "/v1/models/../x", "/%00"),
)
VERBS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
ANSWERS = frozenset({200, 400, 401, 403, 404, 405, 409, 413, 429, 431, 502, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    verb: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    token: str = "secret-token"


WELL = Sent(verb="GET", path="/healthz")
# Most show the token that is right there.
TOKENS = {0: "wrong"}


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
SIGNED = _header(
    x_hub_signature_256=("sha256=", f"sha256={'0' * 64}", "sha1=0"),
    x_signature=("sha256=", f"sha256={'0' * 64}"),
    x_timestamp=("0", "-1", "1e9", "9" * 400),
    x_github_delivery=("d1",),
    x_delivery_id=("d1",),
    idempotency_key=("k",),
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
HOOK = st.fixed_dictionaries(
    {},
    optional={
        "message": st.text(max_size=20) | JSON,
        "text": st.text(max_size=20) | JSON,
        "name": JSON,
        "mode": st.sampled_from(["now", "next-heartbeat"]) | JSON,
        "agentId": st.sampled_from(["main", "helper", "nobody"]) | JSON,
        "sessionKey": st.sampled_from(["main", "hook:x", "agent:main:main"]) | JSON,
        "model": JSON,
        "thinking": JSON,
        "deliver": JSON,
        "timeoutSeconds": st.integers(-1, 2**70) | JSON,
        "repo": JSON,
        "who": JSON,
    },
)


def _dumped(body: object) -> bytes:
    return json.dumps(body).encode()


BODIES = st.binary(max_size=40) | JSON.map(_dumped)
HOOKS = ("/hooks/wake", "/hooks/agent", "/hooks/gh", "/hooks/ts", "/hooks/door", "/hooks/", "/hooks/no/such")
SENT = st.one_of(
    st.builds(
        Sent,
        verb=st.sampled_from(("POST", "POST", "GET")),
        path=st.sampled_from(HOOKS),
        body=HOOK.map(_dumped) | BODIES,
        headers=SIGNED,
        token=st.just(TOKEN),
    ),
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


def _written(sent: Sent, token: str) -> bytes:
    """As a client writes it who takes its time over nothing."""
    headers = {
        "Host": "127.0.0.1",
        "Authorization": f"Bearer {token}",
        "Content-Length": str(len(sent.body)),
        "Connection": "close",
        **sent.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{sent.verb} {sent.path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + sent.body


CUTS = st.tuples(st.integers(0, 400), st.binary(max_size=6), st.integers(0, 20))


def _mangled(drawn: tuple[Sent, tuple[int, bytes, int]]) -> bytes:
    """A request in which some bytes are others, or missing."""
    sent, (place, other, gone) = drawn
    whole = _written(sent, sent.token)
    place = place % len(whole)
    return whole[:place] + other + whole[place + gone :]


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[int]:
    """The port of a gateway with every page that there can be."""
    async with hooked("memory", folder) as gate, anyio.create_task_group() as group:
        gate.bench.model.otherwise = (Say("yes"),)
        rules = gate.engine.rules
        await gate.engine.reload(replace(rules, house=replace(rules.house, completions=True)))
        listening, server = bind("127.0.0.1", 0), listener(gate.app)
        # Who comes before it serves waits.
        listening.listen()
        group.start_soon(server.serve, [listening])
        yield listening.getsockname()[1]
        server.should_exit = True


async def _answer(port: int, request: bytes, *, leaves: bool = False) -> bytes:
    """All that comes until the gateway hangs up; nothing, where it does so at once. Who `leaves` says nothing more."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        answer = b""
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await stream.send(request)
            if leaves:
                await stream.send_eof()
            while True:
                answer += await stream.receive()
    return answer


async def _answers(requests: list[bytes], folder: Path, *, leaves: bool = False) -> list[bytes]:
    with anyio.fail_after(60):
        async with listening(folder) as port:
            found = [await _answer(port, request, leaves=leaves) for request in requests]
            # Whatever came before, who asks next is answered.
            assert _status(await _answer(port, _written(WELL, ""))) == 200
    return found


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@settings(deadline=None, max_examples=examples(15, 400))
@given(st.lists(st.tuples(SENT, st.integers(0, 4)), min_size=1, max_size=12))
def test_nothing_that_is_sent_breaks_the_gateway(requests: list[tuple[Sent, int]]) -> None:
    written = [_written(sent, TOKENS.get(known, sent.token)) for sent, known in requests]
    with TemporaryDirectory() as folder:
        answers = asyncio.run(_answers(written, Path(folder)))
    assert ANSWERS.issuperset(map(_status, answers))


@settings(deadline=None, max_examples=examples(15, 400))
@given(st.lists(st.binary(max_size=80) | st.tuples(SENT, CUTS).map(_mangled), min_size=1, max_size=12))
def test_what_is_no_request_is_refused_or_hung_up_on(requests: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        answers = asyncio.run(_answers(requests, Path(folder), leaves=True))
    assert ANSWERS.issuperset(_status(answer) for answer in answers if answer)
