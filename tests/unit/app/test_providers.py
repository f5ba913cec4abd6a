import json
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from roost.app.opening import open_engine
from roost.app.places import database_file
from roost.config import load
from roost.config.providers import ModelApi
from roost.core.errors import ConfigInvalid
from roost.testing import fake_anthropic, fake_google, fake_openai, fake_responses
from roost.testing.fake_http import FakeEndpoint, Reply
from roost.testing.scripts import Script, says
from tests.unit.app.given import answers, provider

WIRES: list[tuple[ModelApi, str, Callable[[Script], Reply]]] = [
    (ModelApi.OPENAI_COMPLETIONS, "/v1", fake_openai.reply_of),
    (ModelApi.OPENAI_RESPONSES, "/v1", fake_responses.reply_of),
    (ModelApi.ANTHROPIC_MESSAGES, "", fake_anthropic.reply_of),
    (ModelApi.GOOGLE_GENERATIVE_AI, "/v1beta", fake_google.reply_of),
    (ModelApi.OLLAMA, "", fake_openai.reply_of),
]


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


COUNTED = """
import pathlib, sys
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
print("sk-printed-" + str(len(runs.read_text())))
"""


@pytest.mark.parametrize(("refusals", "texts"), [(1, ("Hello.",)), (2, ("No answer: ",))])
async def test_a_printed_credential_that_is_refused_is_printed_anew_once(
    tmp_path: Path, refusals: int, texts: tuple[str, ...]
) -> None:
    command = {"command": [sys.executable, "-c", COUNTED, str(tmp_path / "runs")]}
    replies = [Reply(status=401, pieces=(b"{}",))] * refusals
    async with FakeEndpoint(*replies, fake_openai.reply_of(says("Hello."))) as server:
        loaded = provider(tmp_path, baseUrl=server.url + "/v1", apiKey=command)
        told = await answers(loaded, "hi")
    assert [text.startswith(start) for text, start in zip(told, texts, strict=True)] == [True]
    keys = [asked.headers["authorization"] for asked in server.requests]
    assert keys == ["Bearer sk-printed-1", "Bearer sk-printed-2"]


async def test_a_configured_credential_that_is_refused_is_refused_for_good(tmp_path: Path) -> None:
    async with FakeEndpoint(Reply(status=401, pieces=(b"{}",))) as server:
        (told,) = await answers(provider(tmp_path, baseUrl=server.url + "/v1"), "hi")
    assert told.startswith("No answer: ")
    assert len(server.requests) == 1


LOADED_BY = """
import sys, threading, anyio
from roost.app.providers import open_models
from roost.clock import SystemClock
from roost.config import load

class Watch:
    found = {}
    def find_spec(self, name, path=None, target=None):
        self.found.setdefault(name, threading.current_thread() is threading.main_thread())

async def main():
    sys.meta_path.insert(0, Watch())
    async with open_models(load({"ROOST_HOME": sys.argv[1]}).settings, SystemClock()):
        print(Watch.found["pydantic_ai.models"], Watch.found["anthropic"])

anyio.run(main)
"""


async def test_a_library_is_loaded_beside_the_event_loop(tmp_path: Path) -> None:
    provider(tmp_path, api="anthropic-messages", baseUrl="http://127.0.0.1:9")
    done = await anyio.run_process([sys.executable, "-c", LOADED_BY, str(tmp_path)], check=False)
    assert done.stdout.decode().split() == ["False", "False"], done.stderr.decode()


async def test_a_credential_that_cannot_be_had_is_refused_by_where_it_is_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"models\.providers\.local\.apiKey"):
        async with open_engine(provider(tmp_path, apiKey={"command": ["/no/such"]}), [], {}):
            pass
    assert not database_file(tmp_path).exists()


async def test_a_model_nobody_has_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="there is no model local/small"):
        async with open_engine(provider(tmp_path, models=[{"id": "large"}]), [], {}):
            pass
