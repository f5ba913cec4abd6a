"""Every setting that keeps somebody out: what it means when nothing, or nonsense, is given."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from roost.app.toolpolicies import rights_of_child
from roost.config import ConfigRefused, Settings
from roost.config.catalogue import keys
from roost.config.hooks import hook_rules
from roost.config.policies import channel_policy, command_policy, delegation
from tests.property.test_config import is_closed, load, put

NOTHING: Mapping[str, object] = {"null": None, "text": "", "list": [], "object": {}}
NONSENSE: tuple[object, ...] = (-1, -3.5, "no such thing\0", [None], {"no such": -1}, [[]])

# What says nothing about who may do what. A new setting has to be put here or is held to what stands below.
HARMLESS = re.compile(
    r"gateway\.(port|drainMs)$|session$|session\.(mainKey|store|mirror|reset|idleMinutes|agentToAgent|threadBindings|maintenance)"
    r"|tools\.sessions_spawn|agents$|agents\.(entries|list)$|agents\.list\[\]\.(default|name|id|model|heartbeat)$"
    r"|agents\.defaults$|agents\.defaults\.(model|bootstrap|userTimezone|maxConcurrent|timeoutSeconds|heartbeat|context|compaction)"
    r"|agents\.defaults\.subagents(\.(maxC|archive|runT|announce|model|thinking|delegation).*)?$"
    r"|models(\.mode|\.providers)?$|models\.providers\.<name>\.(api$|context|maxTokens|timeout|params|models(\[\]\.(?!headers).*)?$)"
    r"|messages|cron|recovery|logging|channels\.<channel>\.threadBindings$"
)
PATHS = [key.path for key in keys() if not HARMLESS.match(key.path)]

# Any text is one: a credential, a folder, a name to compare with. Each is compared whole and opens nothing by itself.
FREE_TEXT = re.compile(
    r".*\.(token|password|secret|apiKey|workspace|keyPrefix|rawKeyPrefix|message|sessionKey|model|defaultSessionKey)$"
    r"|bindings\[\]\.match\.(peer\.id|guildId|teamId)$"
)


def _agent(given: Settings) -> Any:
    return given.agents.list[0]


# An empty list that is not the same as none lets nobody in, or lets nothing happen.
MEANS_NOBODY: Mapping[str, Callable[[Settings], bool]] = {
    "tools.allow": lambda given: not rights_of_child(given, _agent(given), 0).allow,
    "tools.alsoAllow": lambda given: given.tools.also_allow == (),
    "tools.subagents.tools.allow": lambda given: not rights_of_child(given, _agent(given), 1).allow,
    "agents.defaults.subagents.allowAgents": lambda given: delegation(_agent(given)).named == frozenset(),
    "commands.ownerAllowFrom": lambda given: channel_policy(given, "x").owner_ids == (),
    "commands.allowFrom": lambda given: command_policy(given).allow_from == {},
    "channels.<channel>.allowFrom": lambda given: channel_policy(given, "x").allow_from == (),
    "channels.<channel>.groupAllowFrom": lambda given: channel_policy(given, "x").group_allow_from == (),
    "hooks.allowedAgentIds": lambda given: hook_rules(given.hooks).agents == (),
    "session.sendPolicy.rules[].match": lambda given: "deny" in repr(given.session.send_policy),
}
# An object in which nothing is said is as if it were left out.
LEFT_OUT = frozenset(
    {
        "bindings[].session",
        "channels.<channel>.accounts",
        "channels.<channel>.groups",
        "channels.<channel>.tools",
        "channels.<channel>.toolsBySender",
        "models.providers.<name>.headers",
        "models.providers.<name>.models[].headers",
        "session.sendPolicy",
        "session.sendPolicy.rules",
    }
)


def _given(path: str, value: object) -> Settings | None:
    try:
        return load(put({}, re.sub("<[a-z]+>", "<>", path), value))
    except ConfigRefused:
        return None


def test_every_row_is_of_a_setting_that_exists() -> None:
    assert MEANS_NOBODY.keys() | LEFT_OUT <= {key.path for key in keys()}
    assert len(PATHS) >= 100


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("empty", NOTHING.values(), ids=NOTHING)
def test_a_security_setting_that_is_empty_is_refused_or_closes(empty: object) -> None:
    default, wrong = load({}), []
    for path in PATHS:
        found = _given(path, empty)
        if found is None or found == default:
            continue
        closes = path in LEFT_OUT or (path in MEANS_NOBODY and MEANS_NOBODY[path](found))
        if not closes or not is_closed(found):
            wrong.append(path)
    assert wrong == []


@pytest.mark.requirement("S21")
def test_a_security_setting_that_is_malformed_is_refused() -> None:
    taken = [
        (path, value)
        for path in PATHS
        for value in NONSENSE
        if not (isinstance(value, str) and FREE_TEXT.match(path)) and _given(path, value) is not None
    ]
    assert taken == []
