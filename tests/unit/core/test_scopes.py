"""Scopes: who shares main."""

import pytest

from roost.core.scopes import DmScope, SessionScope, main_key


@pytest.mark.requirement("D31")
def test_main_is_named_by_the_configuration_and_global_under_the_global_scope() -> None:
    assert str(main_key("ops", "work")) == "agent:ops:work"
    assert str(main_key("ops", "work", SessionScope.GLOBAL)) == "global"


@pytest.mark.parametrize("scope", [scope for scope in DmScope if scope is not DmScope.OWNER_MAIN])
def test_a_scope_holds_for_everyone_alike(scope: DmScope) -> None:
    assert scope.for_speaker(is_owner=True) is scope
    assert scope.for_speaker(is_owner=False) is scope


@pytest.mark.requirement("P2")
def test_under_owner_main_only_the_owner_shares_main() -> None:
    assert DmScope.OWNER_MAIN.for_speaker(is_owner=True) is DmScope.MAIN
    assert DmScope.OWNER_MAIN.for_speaker(is_owner=False) is DmScope.PER_CHANNEL_PEER
