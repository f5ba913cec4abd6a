"""What the composition root puts together."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.app import database_file, open_engine, open_store, secret_scanner
from roost.channels.loopback import LoopbackChannel
from roost.config import Loaded, load
from roost.config.providers import ModelApi
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.errors import ConfigInvalid
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.testing import fake_anthropic, fake_google, fake_openai, fake_responses
from roost.testing.builders import MAIN
from roost.testing.fake_http import FakeEndpoint, Reply
from roost.testing.scripts import Script, says

WIRES: list[tuple[ModelApi, str, Callable[[Script], Reply]]] = [
    (ModelApi.OPENAI_COMPLETIONS, "/v1", fake_openai.reply_of),
    (ModelApi.OPENAI_RESPONSES, "/v1", fake_responses.reply_of),
    (ModelApi.ANTHROPIC_MESSAGES, "", fake_anthropic.reply_of),
    (ModelApi.GOOGLE_GENERATIVE_AI, "/v1beta", fake_google.reply_of),
    (ModelApi.OLLAMA, "", fake_openai.reply_of),
]


async def test_without_a_database_the_embedded_store_is_opened_in_the_home_folder(tmp_path: Path) -> None:
    async with open_store(load({"ROOST_HOME": str(tmp_path)})) as store:
        assert isinstance(store, SqliteStore)
        assert await store.session(MAIN) is None
    assert database_file(tmp_path).exists()


async def test_a_database_that_this_roost_cannot_use_is_refused_before_anything_is_opened(
    tmp_path: Path,
) -> None:
    environ = {"ROOST_HOME": str(tmp_path), "ROOST_DATABASE_URL": "postgresql://somewhere/roost"}
    with pytest.raises(ConfigInvalid, match="embedded store"):
        async with open_store(load(environ)):
            pass
    assert not database_file(tmp_path).exists()


def test_configured_secrets_are_found_whatever_their_form(tmp_path: Path) -> None:
    scanner = secret_scanner(
        load({"ROOST_HOME": str(tmp_path), "ROOST_GATEWAY_TOKEN": "plain words of the owner"})
    )
    text = "it is `plain words of the owner`, or ghp_" + "a1B2" * 9
    assert [text[span.start : span.end][:5] for span in scanner.find(text)] == ["plain", "ghp_a"]


def provider(tmp_path: Path, **changes: object) -> Loaded:
    """A configuration with one provider, `local`, whose model is the agent's."""
    known = {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "small", "input": ["text", "image"]}]}
    document = {
        "models": {"providers": {"local": {**known, **changes}}},
        "agents": {"defaults": {"model": "local/small"}},
    }
    (tmp_path / "roost.json").write_text(json.dumps(document))
    return load({"ROOST_HOME": str(tmp_path)})


async def test_an_engine_is_put_together_from_the_configuration(tmp_path: Path) -> None:
    loaded = provider(tmp_path, apiKey="sk-local-0123456789", models=[{"id": "small", "cost": {"input": 1}}])
    async with open_engine(loaded, [], {}) as engine, engine.serving(Gateway(name="t", holder="t")) as lease:
        assert lease.epoch == 1


async def answers(loaded: Loaded, *texts: str) -> tuple[str, ...]:
    """What an engine over this configuration answers on a channel of its own."""
    channel = LoopbackChannel()
    doors = {"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))}
    ada = Sender(id="ada")
    chat = Conversation(chat_type=ChatType.DIRECT, peer="ada")
    found: tuple[str, ...] = ()
    async with open_engine(loaded, [channel], doors) as engine, engine.serving(Gateway(name="t", holder="t")):
        for number, text in enumerate(texts, 1):
            await channel.say(text, sender=ada, chat=chat)
            found = await channel.wait_replies(Address(channel="loopback", to="ada"), number)
    return found


@pytest.mark.parametrize(("api", "path", "written"), WIRES, ids=[str(api) for api, _, _ in WIRES])
async def test_every_wire_format_answers_with_a_key_that_a_program_prints(
    tmp_path: Path, api: ModelApi, path: str, written: Callable[[Script], Reply]
) -> None:
    command = {"command": [sys.executable, "-c", "print('sk-printed')"]}
    async with FakeEndpoint(written(says("Hello Ada."))) as server:
        loaded = provider(tmp_path, api=str(api), baseUrl=server.url + path, apiKey=command)
        assert await answers(loaded, "hi") == ("Hello Ada.",)
    assert any("sk-printed" in value for value in server.requests[0].headers.values())


def test_every_wire_format_of_the_configuration_is_tried() -> None:
    assert {api for api, _, _ in WIRES} == set(ModelApi)


async def test_a_model_may_be_reached_in_a_way_of_its_own(tmp_path: Path) -> None:
    own = {
        "id": "small",
        "api": "anthropic-messages",
        "headers": {"X-Own": "o"},
        "params": {"own": 1},
        "compat": {"supportsStore": False},
    }
    async with FakeEndpoint(fake_anthropic.reply_of(says("Own way."))) as server:
        changes = {
            "auth": "token",
            "apiKey": "sk-t",
            "headers": {"X-All": "a"},
            "params": {"all": 2, "own": 2},
        }
        loaded = provider(tmp_path, baseUrl=server.url, models=[own], timeoutSeconds=9, **changes)
        assert await answers(loaded, "hi") == ("Own way.",)
    asked = server.requests[0]
    assert asked.path.startswith("/v1/messages")
    assert (asked.headers["authorization"], asked.headers["x-all"], asked.headers["x-own"]) == (
        "Bearer sk-t",
        "a",
        "o",
    )
    assert (asked.body["all"], asked.body["own"]) == (2, 1)


async def test_oddities_of_an_endpoint_are_heeded(tmp_path: Path) -> None:
    odd = {
        "id": "small",
        "compat": {"maxTokensField": "max_completion_tokens", "supportsUsageInStreaming": False},
    }
    async with FakeEndpoint(fake_openai.reply_of(says("ok"))) as server:
        await answers(provider(tmp_path, baseUrl=f"{server.url}/v1", models=[odd]), "hi")
    body = server.requests[0].body
    assert "max_completion_tokens" in body
    assert not {"max_tokens", "stream_options"} & set(body)


@pytest.mark.requirement("P18")
async def test_a_configured_fallback_answers_for_one_turn(tmp_path: Path) -> None:
    closed = fake_openai.refused(401, "no")
    async with (
        FakeEndpoint(closed, fake_openai.reply_of(says("first"))) as local,
        FakeEndpoint(fake_openai.reply_of(says("second"))) as spare,
    ):
        document = {
            "models": {
                "providers": {
                    "local": {"baseUrl": f"{local.url}/v1"},
                    "spare": {"baseUrl": f"{spare.url}/v1"},
                }
            },
            "agents": {"defaults": {"model": {"primary": "local/a", "fallbacks": ["spare/b"]}}},
        }
        (tmp_path / "roost.json").write_text(json.dumps(document))
        assert await answers(load({"ROOST_HOME": str(tmp_path)}), "one", "two") == ("second", "first")


async def test_a_wire_format_whose_part_is_not_installed_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(ConfigInvalid, match=r"models\.providers\.local speaks `ollama`.*roost\[providers\]"):
        async with open_engine(provider(tmp_path, api="ollama"), [], {}):
            pass


async def test_a_credential_that_cannot_be_had_is_refused_by_where_it_is_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"models\.providers\.local\.apiKey"):
        async with open_engine(provider(tmp_path, apiKey={"command": ["/no/such"]}), [], {}):
            pass
    assert not database_file(tmp_path).exists()


async def test_a_model_nobody_has_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="there is no model local/small"):
        async with open_engine(provider(tmp_path, models=[{"id": "large"}]), [], {}):
            pass


def test_starting_loads_no_library_of_a_provider() -> None:
    script = "import sys, roost.app; print([name for name in ('pydantic_ai', 'openai', 'anthropic', 'google.genai') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
