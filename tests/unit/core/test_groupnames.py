"""Legacy names of groups."""

import pytest

from roost.core.addresses import ChatType
from roost.core.errors import InvalidInput
from roost.core.groupnames import legacy_chat_type, legacy_key


@pytest.mark.requirement("D41")
@pytest.mark.parametrize(
    ("text", "provider", "key"),
    [
        ("group:-100", "telegram", "agent:main:telegram:group:-100"),
        ("group:-100:topic:42", " Telegram ", "agent:main:telegram:group:-100:topic:42"),
        ("group:AbC=", "signal", "agent:main:signal:group:AbC="),
        ("channel:C1", "slack", "agent:main:slack:channel:c1"),
        ("group:-100", None, "agent:main:unknown:group:-100"),
        ("group:5", "direct", "agent:main:%64irect:group:5"),
        ("123-45@g.us", None, "agent:main:whatsapp:group:123-45@g.us"),
        ("123-45@g.us", "wa2", "agent:main:wa2:group:123-45@g.us"),
        ("discord:guild-1:channel-2", "telegram", "agent:main:discord:channel:2"),
        ("discord:bot:guild-1:channel-2", None, "agent:main:discord:channel:2"),
    ],
)
def test_a_legacy_name_becomes_the_key_of_its_providers_group(
    text: str, provider: str | None, key: str
) -> None:
    assert str(legacy_key("main", text, provider)) == key


@pytest.mark.parametrize("text", ["main", "group:", "telegram:group:-100", "ann@s.whatsapp.net", "discord:5"])
def test_any_other_text_is_no_legacy_name(text: str) -> None:
    assert legacy_key("main", text, "telegram") is None
    assert legacy_chat_type(text) is None


def test_a_malformed_legacy_name_is_refused() -> None:
    with pytest.raises(InvalidInput):
        legacy_key("main", "group:a\nb", "telegram")


@pytest.mark.parametrize(
    ("text", "chat_type"),
    [
        ("group:-100", ChatType.GROUP),
        ("Channel:c1", ChatType.CHANNEL),
        ("123-45@g.us", ChatType.GROUP),
        ("discord:guild-1:channel-2", ChatType.CHANNEL),
    ],
)
def test_a_legacy_name_tells_its_kind_of_chat(text: str, chat_type: ChatType) -> None:
    assert legacy_chat_type(text) is chat_type
