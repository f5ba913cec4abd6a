"""What a first configuration says."""

import pytest

from roost.cli.firstconfig import Choices, Model, settings_of, usual_provider
from roost.core.errors import InvalidInput
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


@pytest.mark.parametrize("who", ["telegram", "telegram:", ":1"])
def test_a_person_is_somebody_somewhere(who: str) -> None:
    with pytest.raises(InvalidInput, match="telegram:12345"):
        list(settings_of(Choices(owner=(who,)), settings({})))


def test_the_provider_is_the_one_whose_key_is_there() -> None:
    assert usual_provider({"OPENAI_API_KEY": "k"}) == "openai"
    assert usual_provider({"PATH": "/bin"}) is None
