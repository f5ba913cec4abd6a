"""What the composition root puts together."""

import json
from pathlib import Path

import pytest

from roost.app import database_file, open_engine, open_store, secret_scanner
from roost.config import Loaded, load
from roost.core.errors import ConfigInvalid
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import MAIN


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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"api": "anthropic-messages"}, "openai-completions"),
        ({"apiKey": {"command": ["print-key"]}}, "command"),
    ],
)
async def test_a_provider_that_this_roost_cannot_use_is_refused_by_name(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigInvalid, match=f"models.providers.local(.|\n)*{said}"):
        async with open_engine(provider(tmp_path, **changes), [], {}):
            pass
