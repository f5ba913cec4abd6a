import pytest

from roost.config.catalogue import Key, keys
from roost.config.section import Takes


@pytest.fixture(scope="module")
def by_path() -> dict[str, Key]:
    return {key.path: key for key in keys()}


def test_every_key_is_listed_once_and_described(by_path: dict[str, Key]) -> None:
    assert len(by_path) == len(list(keys()))
    for key in by_path.values():
        assert key.description.endswith((".", ")")), key.path
        assert key.allowed, key.path


@pytest.mark.parametrize(
    ("path", "allowed", "default"),
    [
        ("session.reset.atHour", "integer from 0 to 23", ""),
        ("session.agentToAgent.maxPingPongTurns", "integer from 0 to 20", "5"),
        ("session.resetByType.dm", "object as `session.reset`", ""),
        ("agents.list[].model", "text or object as `agents.defaults.model`", ""),
        ("agents.entries", "object, agent to object as `agents.list[]`", "{}"),
        ("channels.<channel>.dmPolicy", "`pairing`, `allowlist`, `open` or `disabled`", '"pairing"'),
        ("models.providers.<name>.models[].id", "text", ""),
        ("tools.sessions_spawn.attachments.maxFiles", "integer, 1 or more", "50"),
        ("cron.sessionRetention", None, '"1d"'),
    ],
)
def test_keys_say_what_they_allow_and_default_to(
    by_path: dict[str, Key], path: str, allowed: str | None, default: str
) -> None:
    assert by_path[path].default == default
    assert allowed in {None, by_path[path].allowed}


@pytest.mark.requirement("S12")
@pytest.mark.parametrize(
    ("path", "takes"),
    [
        ("gateway.port", Takes.RESTART),
        ("gateway.bind", Takes.RESTART),
        ("database", Takes.RESTART),
        ("session.store", Takes.RESTART),
        ("gateway.auth.token", Takes.AT_ONCE),
        ("hooks.token", Takes.AT_ONCE),
        ("hooks.path", Takes.RESTART),
        ("models.providers.<name>.apiKey", Takes.AT_ONCE),
        ("tools.deny", Takes.AT_ONCE),
        ("tools.sessions.visibility", Takes.AT_ONCE),
        ("session.sendPolicy.rules[].action", Takes.AT_ONCE),
        ("channels.<channel>.allowFrom", Takes.AT_ONCE),
        ("session.dmScope", Takes.AT_ONCE),
        ("session.identityLinks", Takes.AT_ONCE),
        ("session.mainKey", Takes.NEXT_RUN),
        ("agents.defaults.model.primary", Takes.NEXT_RUN),
    ],
)
def test_keys_say_when_they_take_effect(by_path: dict[str, Key], path: str, takes: Takes) -> None:
    assert by_path[path].takes is takes
