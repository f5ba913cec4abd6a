import pytest
from pydantic import ValidationError

from roost.config.section import Section, over
from roost.config.tools import ToolScope
from tests.unit.config.given import refused, settings


class Lamp(Section):
    colour: str = "white"
    watts: int = 5


def test_settings_cannot_be_changed() -> None:
    given = settings({})
    with pytest.raises(ValidationError, match="frozen"):
        given.gateway = given.gateway
    with pytest.raises(ValidationError, match="frozen"):
        given.gateway.port = 1


def test_keys_are_written_in_camel_case_only() -> None:
    assert settings({"session": {"dmScope": "per-peer"}}).session.dm_scope == "per-peer"
    assert "session.dm_scope" in refused({"session": {"dm_scope": "per-peer"}})


def test_a_conflict_is_found_beside_other_problems() -> None:
    document = {
        "tools": {"allow": [], "alsoAllow": ["x"], "frofile": "full", "byProvider": {"p": {"deny": 5}}}
    }
    assert set(refused(document)) == {"tools.frofile", "tools.byProvider.p.deny"}
    del document["tools"]["byProvider"]
    assert set(refused(document)) == {"tools.frofile", "tools.alsoAllow"}


def test_a_conflict_names_its_place_to_whoever_validates() -> None:
    with pytest.raises(ValidationError) as caught:
        ToolScope.model_validate({"allow": ["a"], "alsoAllow": ["b"]})
    assert [error["loc"] for error in caught.value.errors()] == [("alsoAllow",)]


def test_one_section_over_another_gives_only_what_was_given() -> None:
    base = Lamp.model_validate({"colour": "red", "watts": 9})
    assert over(base, Lamp.model_validate({"watts": 5})) == Lamp.model_validate({"colour": "red", "watts": 5})
    assert over(base, Lamp.model_validate({})) == base
