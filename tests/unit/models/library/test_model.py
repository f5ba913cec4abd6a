"""The wire formats of the model library: what each sends, which the contract does not ask of every model."""

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.messages import (
    AssistantMessage,
    Image,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.core.models import FailureKind, Finished, ModelFailed, ModelRequest, Prices
from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint, KeyAs
from roost.models.library.anthropic import ANTHROPIC
from roost.models.library.google import GOOGLE
from roost.models.library.model import HostedModel, Wire
from roost.models.library.ollama import OLLAMA
from roost.models.library.responses import RESPONSES
from roost.testing import fake_anthropic, fake_google, fake_openai, fake_responses
from roost.testing.clock import NOON, FakeClock
from roost.testing.fake_http import Asked, Cut, FakeEndpoint, Reply
from roost.testing.providers import anthropic_violations, google_violations, openai_violations
from roost.testing.scripts import Fail, Say, Script, Spend, says
from tests.asking import READ, SPEC, request

KEY = Secret("sk-unit-secret")
PIXEL = "iVBORw0KGgo="
HUMAN = Provenance(kind=ProvenanceKind.HUMAN)
CALL = ToolCall(id="call_1", name="read", arguments={"path": "a", "deep": {"list": [1, None]}})
USAGE = Usage(input=900, output=200, cache_read=80, cache_write=20, total=1_200)

REPLIES: dict[str, Callable[[Script], Reply]] = {
    RESPONSES.api: fake_responses.reply_of,
    ANTHROPIC.api: fake_anthropic.reply_of,
    GOOGLE.api: fake_google.reply_of,
    OLLAMA.api: fake_openai.reply_of,
}
WIRES = pytest.mark.parametrize("wire", [RESPONSES, ANTHROPIC, GOOGLE, OLLAMA], ids=lambda wire: wire.api)


@asynccontextmanager
async def reached(
    wire: Wire,
    *replies: Reply,
    key: Secret | None = KEY,
    key_as: KeyAs = KeyAs.NATIVE,
    headers: dict[str, Secret] | None = None,
    params: JsonObject | None = None,
    path: str = "",
) -> AsyncIterator[tuple[FakeEndpoint, HostedModel]]:
    async with FakeEndpoint(*replies) as server:
        endpoint = Endpoint(
            provider="local",
            base_url=server.url + path,
            key=key,
            key_as=key_as,
            headers=headers or {},
            params=params or {},
        )
        model = HostedModel(endpoint, FakeClock(), wire)
        try:
            yield server, model
        finally:
            await model.aclose()


async def answer(model: HostedModel, asked: ModelRequest | None = None) -> AssistantMessage:
    async with model.stream(asked or request()) as events:
        seen = [event async for event in events]
    assert isinstance(seen[-1], Finished)
    return seen[-1].message


async def asked(wire: Wire, asking: ModelRequest | None = None, **how: object) -> Asked:
    async with reached(wire, REPLIES[wire.api](says("ok")), **how) as (server, model):  # type: ignore[arg-type]
        await answer(model, asking)
    return server.requests[0]


@pytest.mark.parametrize(
    ("wire", "base", "path", "header", "value"),
    [
        (RESPONSES, "/v1", "/v1/responses", "authorization", "Bearer sk-unit-secret"),
        (ANTHROPIC, "", "/v1/messages", "x-api-key", "sk-unit-secret"),
        (ANTHROPIC, "/proxy/v1/", "/proxy/v1/messages", "x-api-key", "sk-unit-secret"),
        (
            GOOGLE,
            "/v1beta",
            "/v1beta/models/small:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            "sk-unit-secret",
        ),
        (OLLAMA, "", "/v1/chat/completions", "authorization", "Bearer sk-unit-secret"),
        (OLLAMA, "/v1", "/v1/chat/completions", "authorization", "Bearer sk-unit-secret"),
    ],
)
async def test_the_request_goes_where_the_format_has_it_with_the_key_where_it_belongs(
    wire: Wire, base: str, path: str, header: str, value: str
) -> None:
    found = await asked(wire, path=base)
    assert found.path.removesuffix("?beta=true") == path
    assert found.headers[header] == value


@WIRES
async def test_nothing_of_the_environment_or_the_libraries_is_told_to_the_provider(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_AUTH_TOKEN",
        "GOOGLE_API_KEY",
    ):
        monkeypatch.setenv(name, "x-leaked: leaked")
    found = await asked(wire, headers={"X-Team": Secret(" blue ")})
    assert "leaked" not in json.dumps([found.path, dict(found.headers)])
    allowed = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "x-team"}
    allowed |= {"anthropic-version", "anthropic-beta", wire.key_header}
    assert set(found.headers) <= allowed
    assert found.headers["x-team"] == "blue"


@WIRES
async def test_a_key_may_be_a_bearer_token_or_not_be_there(wire: Wire) -> None:
    assert (await asked(wire, key_as=KeyAs.BEARER)).headers["authorization"] == "Bearer sk-unit-secret"
    assert not {"authorization", wire.key_header} & set((await asked(wire, key=None)).headers)


@WIRES
async def test_configured_parameters_are_sent_too(wire: Wire) -> None:
    assert (await asked(wire, params={"service": {"tier": "x"}})).body["service"] == {"tier": "x"}


@WIRES
async def test_a_key_that_cannot_be_sent_is_refused_before_anything_is(wire: Wire) -> None:
    async with reached(wire, key=Secret("sk-naïve")) as (server, model):
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
    assert failed.value.kind is FailureKind.AUTH
    assert server.connections == 0


def conversation(*, images: bool) -> ModelRequest:
    said = AssistantMessage(
        content=(Thinking(thinking="hm", signature="c2ln"), Text("Let me see."), CALL),
        at=NOON,
        provider="local",
        model="small",
    )
    foreign = replace(
        said, provider="other", content=(Thinking(thinking="secret", signature="b3Ro"), Text("Well."))
    )
    picture = Image(mime="image/png", data=PIXEL)
    return ModelRequest(
        spec=replace(SPEC, images=images, reasoning=True),
        system="Be kind.",
        messages=(
            UserMessage(content=(Text("hi"), picture), at=NOON, provenance=HUMAN),
            foreign,
            UserMessage(content=(Text("go on"),), at=NOON, provenance=HUMAN),
            said,
            ToolResult(
                call_id="call_1", tool="read", content=(Text("no such file"), picture), at=NOON, is_error=True
            ),
            UserMessage(content=(Text("and?"),), at=NOON, provenance=HUMAN),
        ),
        tools=(READ,),
        thinking="low",
    )


def joined(body: JsonObject) -> JsonObject:
    """Results and what is said after them as one turn: the library sends them as two, which is the same there."""
    turns: list[dict[str, JsonValue]] = []
    for content in as_objects(body["contents"]):
        if turns and turns[-1]["role"] == content["role"]:
            turns[-1]["parts"] = [*as_objects(turns[-1]["parts"]), *as_objects(content["parts"])]
        else:
            turns.append(dict(content))
    return {"contents": turns}


def as_objects(value: JsonValue) -> list[JsonObject]:
    assert isinstance(value, list)
    return [item for item in value if isinstance(item, dict)]


@WIRES
@pytest.mark.parametrize("images", [True, False])
async def test_a_whole_conversation_is_sent_as_the_format_wants_it(wire: Wire, images: bool) -> None:
    body = (await asked(wire, conversation(images=images))).body
    text = json.dumps(body)
    for part in ("Be kind.", "Let me see.", "no such file", "and?", "Reads a file.", "call_1"):
        assert part in text
    assert (PIXEL in text) is images
    assert "secret" not in text
    assert "b3Ro" not in text
    assert ("c2ln" in text) is (wire in (ANTHROPIC, GOOGLE))
    match wire.api:
        case ANTHROPIC.api:
            assert anthropic_violations(body) == ()
        case GOOGLE.api:
            assert google_violations(joined(body)) == ()
        case OLLAMA.api:
            messages = body["messages"]
            assert isinstance(messages, list)
            assert openai_violations({"messages": messages[1:]}) == ()


@WIRES
async def test_thinking_is_asked_only_of_a_model_that_reasons(wire: Wire) -> None:
    reasoning = replace(request(), spec=replace(SPEC, reasoning=True), thinking="high")
    plain = replace(request(), thinking="high")
    asked_for = json.dumps((await asked(wire, reasoning)).body)
    left = json.dumps((await asked(wire, plain)).body)
    assert len(asked_for) >= len(left)
    assert not any(word in left for word in ("thinking", "reasoning", "effort"))


async def test_what_is_said_is_not_kept_by_the_provider_and_its_beginning_is_cached() -> None:
    assert (await asked(RESPONSES)).body["store"] is False
    assert "cache_control" in json.dumps((await asked(ANTHROPIC)).body)


@WIRES
async def test_tokens_are_counted_each_once_and_priced(wire: Wire) -> None:
    usage = USAGE if wire is ANTHROPIC else USAGE._replace(input=920, cache_write=0)
    prices = Prices(input=1, output=2, cache_read=10, cache_write=100)
    asking = replace(request(), spec=replace(SPEC, prices=prices))
    async with reached(wire, REPLIES[wire.api]([Say("x"), Spend(usage)])) as (_, model):
        found = (await answer(model, asking)).usage
    cost = usage.input + 2 * usage.output + 10 * usage.cache_read + 100 * usage.cache_write
    assert found == usage._replace(cost_micros=cost)


@WIRES
async def test_a_refusal_says_who_and_why_but_never_the_key(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = [Fail(FailureKind.PERMANENT, f"no model for {KEY.reveal()}")]
    async with reached(wire, REPLIES[wire.api](script)) as (_, model):
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
    assert str(failed.value).startswith("local answered 404 Not Found: no model for ***")
    assert KEY.reveal() not in str(failed.value)


@WIRES
async def test_nobody_there_is_transient_and_names_the_provider(wire: Wire) -> None:
    async with reached(wire) as (server, model):
        await server.__aexit__(None, None, None)
        with pytest.raises(ModelFailed, match="local could not be reached") as failed:
            await answer(model)
        await server.__aenter__()
    assert failed.value.kind is FailureKind.TRANSIENT


@WIRES
async def test_a_stream_without_its_end_is_transient(wire: Wire) -> None:
    whole = REPLIES[wire.api](says("a b c"))
    short = replace(whole, pieces=whole.pieces[: 2 if wire is GOOGLE else 4])
    for reply in (short, replace(short, pieces=(*short.pieces, Cut()))):
        async with reached(wire, reply) as (_, model):
            with pytest.raises(ModelFailed) as failed:
                await answer(model)
        assert failed.value.kind is FailureKind.TRANSIENT


@WIRES
async def test_bytes_that_are_no_answer_are_transient(wire: Wire) -> None:
    async with reached(wire, Reply(pieces=(b"data: {nonsense\n\n",))) as (_, model):
        with pytest.raises(ModelFailed) as failed:
            await answer(model)
    assert failed.value.kind is FailureKind.TRANSIENT


@WIRES
async def test_answers_one_after_another_share_a_connection(wire: Wire) -> None:
    async with reached(wire, *(REPLIES[wire.api](says(f"answer {n}")) for n in range(3))) as (server, model):
        for _ in range(3):
            await answer(model)
        assert server.connections == 1
