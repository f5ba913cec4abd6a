import pytest

from roost.config.amounts import Duration
from roost.core.secrets import Secret
from tests.unit.config.given import refused, settings


def test_timers_and_recovery_have_the_specified_defaults() -> None:
    given = settings({})
    assert (given.cron.enabled, given.cron.session_retention) == (True, Duration.parse("24h"))
    assert given.recovery.max_age == Duration.parse("10m")


@pytest.mark.requirement("S21")
def test_hooks_are_off_and_choose_no_session_by_themselves() -> None:
    hooks = settings({}).hooks
    assert (hooks.enabled, hooks.token, hooks.path) == (False, None, "/hooks")
    assert (hooks.allow_request_session_key, hooks.allowed_session_key_prefixes) == (False, ())


@pytest.mark.requirement("S21")
def test_hooks_without_a_token_are_refused() -> None:
    assert list(refused({"hooks": {"enabled": True}})) == ["hooks.token"]
    assert settings({"hooks": {"enabled": True, "token": "t"}}).hooks.token == Secret("t")


@pytest.mark.parametrize("path", ["/", "hooks", "/a//b", "/a/", "/a?b", ""])
def test_hooks_have_a_path_of_their_own(path: str) -> None:
    assert "hooks.path" in refused({"hooks": {"path": path}})
