"""Keys of sessions that no chat message opens."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, node, person
from roost.core.sources import child_key, cron_key, hook_key, is_own, named_key, node_key


@pytest.mark.requirement("D04", "D23")
def test_each_source_has_its_key() -> None:
    assert str(cron_key("main", "daily")) == "agent:main:cron:daily"
    assert str(hook_key("main", "u1")) == "agent:main:hook:u1"
    assert str(node_key("main", "n1")) == "agent:main:node-n1"
    assert str(child_key("ops", "u1")) == "agent:ops:subagent:u1"


@pytest.mark.requirement("D04")
def test_a_node_may_name_its_session_among_those_of_its_agent() -> None:
    assert str(node_key("main", "n1", "kitchen")) == "agent:main:kitchen"
    assert str(node_key("main", "n1", " agent:ops:kitchen ")) == "agent:main:kitchen"


@pytest.mark.requirement("D04")
def test_a_node_may_open_the_session_of_its_name_and_no_other() -> None:
    own = node_key("main", "n1")
    assert is_own(node("n1"), own)
    others = (node("n2"), person("telegram", "n1"), OWNER)
    assert not any(is_own(one, own) for one in others)
    for text in ("agent:main:node-n2", "agent:main:main", "agent:main:node-n1:heartbeat"):
        assert not is_own(node("n1"), SessionKey.parse(text))


@pytest.mark.requirement("D04", "S11")
@pytest.mark.parametrize(
    "requested", ["hook:mail", "agent:main:hook:mail", "Agent:ops:hook:mail", " HOOK:mail "]
)
def test_a_hook_may_use_a_session_under_its_prefix_of_its_own_agent_only(requested: str) -> None:
    assert str(hook_key("main", "u1", requested, (" Hook:",))) == "agent:main:hook:mail"


@pytest.mark.requirement("S11", "S21")
@pytest.mark.parametrize(
    ("requested", "prefixes"),
    [
        ("main", ("hook:",)),
        ("agent:ops:main", ("hook:",)),
        ("agent:main:agent:main:hook:x", ("hook:",)),
        ("hook:mail", ()),
        ("hook:mail", ("", " ")),
        ("global", ("hook:",)),
        ("agent:", ("hook:",)),
        ("", ("hook:",)),
        ("hook:a\nb", ("hook:",)),
    ],
)
def test_a_hook_that_asks_for_any_other_session_is_refused(requested: str, prefixes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        hook_key("main", "u1", requested, prefixes)


def test_a_session_that_the_configuration_names_is_the_agents_own() -> None:
    assert str(named_key("main", "inbox")) == "agent:main:inbox"
    assert str(named_key("main", "agent:other:inbox")) == "agent:main:inbox"
