"""What a first configuration says."""

from collections.abc import Callable

import pytest

from roost.cli.firstconfig import (
    ChannelChoice,
    Choices,
    Model,
    nearest,
    read_address,
    read_channels,
    read_model,
    read_people,
    read_provider,
    read_scope,
    settings_of,
    usual_provider,
)
from roost.core.admission import DmPolicy
from roost.core.errors import InvalidInput
from roost.core.scopes import DmScope
from tests.unit.config.given import settings


def test_a_provider_that_is_not_known_needs_an_address() -> None:
    here = Model(provider="mine", name="small", base_url="http://127.0.0.1:8000/v1")
    (provider, value), (_, model) = settings_of(Choices(model=here), settings({}))
    assert provider == ["models", "providers", "mine"]
    assert value == {"api": "openai-completions", "baseUrl": "http://127.0.0.1:8000/v1"}
    assert model == "mine/small"
    with pytest.raises(InvalidInput, match="base-url"):
        list(settings_of(Choices(model=Model(provider="mine", name="small")), settings({})))


def test_lists_go_on_from_what_they_hold() -> None:
    present = settings(
        {"channels": {"telegram": {"allowFrom": ["1"]}}, "commands": {"ownerAllowFrom": ["slack:U"]}}
    )
    found = {
        ".".join(path): value
        for path, value in settings_of(Choices(owner=("Telegram:2", "telegram:1")), present)
    }
    assert found == {
        "channels.telegram.allowFrom": ["1", "2"],
        "commands.ownerAllowFrom": ["slack:U", "Telegram:2", "telegram:1"],
    }


def test_a_channel_that_is_set_up_already_lets_in_whom_it_let_in_unless_that_is_said() -> None:
    present = settings({"channels": {"telegram": {"dmPolicy": "pairing"}, "slack": {"dmPolicy": "open"}}})
    choices = Choices(channels=read_channels("telegram slack=disabled"))
    assert list(settings_of(choices, present)) == [(["channels", "slack", "dmPolicy"], "disabled")]


def test_a_channel_says_who_may_write_there_and_those_are_listed() -> None:
    channels = read_channels("Telegram slack=open")
    assert channels == (
        ChannelChoice(name="telegram"),
        ChannelChoice(name="slack", dm_policy=DmPolicy.OPEN),
    )
    choices = Choices(channels=channels, allow=("telegram:2",), owner=("telegram:1",))
    found = {".".join(path): value for path, value in settings_of(choices, settings({}))}
    assert found == {
        "channels.telegram.dmPolicy": "allowlist",
        "channels.slack.dmPolicy": "open",
        "channels.telegram.allowFrom": ["2", "1"],
        "commands.ownerAllowFrom": ["telegram:1"],
    }


@pytest.mark.parametrize("who", ["telegram", "telegram:", ":1"])
def test_a_person_is_somebody_somewhere(who: str) -> None:
    with pytest.raises(InvalidInput, match="telegram:12345"):
        list(settings_of(Choices(owner=(who,)), settings({})))


def test_the_provider_is_the_one_whose_key_is_there() -> None:
    assert usual_provider({"OPENAI_API_KEY": "k"}) == "openai"
    assert usual_provider({"PATH": "/bin"}) is None


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (read_provider, "a/b"),
        (read_provider, ""),
        (read_address, "localhost:8000/v1"),
        (read_address, "127.0.0.1"),
        (read_address, "http://"),
        (read_model, ""),
        (read_scope, "all"),
        (read_channels, "tele/gram"),
        (read_channels, "telegram=all"),
        (read_channels, "telegram="),
        (read_people, "telegram:7 me"),
        (read_people, "tele/gram:7"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_do(read: Callable[[str], object], wrong: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(wrong)
    assert refused.value.hint


def test_what_can_be_used_is_read() -> None:
    assert (read_provider("OpenAI"), read_provider("my-own.2")) == ("openai", "my-own.2")
    assert read_address("https://example.org/v1") == "https://example.org/v1"
    assert read_model("small") == "small"
    assert read_scope("per-peer") is DmScope.PER_PEER
    assert read_people(" telegram:7  slack:U8 ") == ("telegram:7", "slack:U8")
    assert read_people("") == ()


def test_a_known_provider_is_found_behind_a_name_that_is_nearly_its_own() -> None:
    assert (nearest("antropic"), nearest("Olama")) == ("anthropic", "ollama")
    assert (nearest("mine"), nearest("openai")) == (None, None)
