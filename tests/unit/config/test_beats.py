from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from roost.config.beats import beats
from roost.config.settings import Settings
from roost.core.errors import ConfigInvalid
from roost.core.heartbeats import PROMPT, Beating, Hours
from roost.core.jobs import SILENT, AgentTurn, Announce, JobPlace
from roost.core.keys import SessionKey
from roost.core.schedules import Every


def beating(**heartbeat: object) -> Beating:
    settings = Settings.model_validate({"agents": {"defaults": {"heartbeat": heartbeat}}})
    return beats(settings, UTC)["main"]


def test_an_agent_looks_around_beside_its_main_session_every_half_hour() -> None:
    found = beating()
    assert found.plan.schedule == Every(every_ms=1_800_000, anchor=0)
    assert (found.plan.place, found.plan.key) == (JobPlace.BESIDE, SessionKey.named("main", "main"))
    assert found.plan.work == AgentTurn(message=PROMPT)
    assert found.plan.telling == Announce()
    assert (found.beat.pause_ms, found.beat.hours, found.beat.ack_chars) == (3 * 86_400_000, None, 300)


def test_what_is_configured_holds() -> None:
    found = beating(
        every="2h",
        session="garden",
        target="none",
        prompt="Water?",
        activeHours={"start": "08:30", "end": "22:00", "timezone": "Europe/Berlin"},
        pauseAfter="1d",
    )
    assert found.plan.key == SessionKey.named("main", "garden")
    assert (found.plan.work, found.plan.telling) == (AgentTurn(message="Water?"), SILENT)
    assert found.beat.hours == Hours(start=510, end=1320, zone=ZoneInfo("Europe/Berlin"))
    assert beating(activeHours={"start": "08:00"}).beat.hours == Hours(start=480, end=1440, zone=UTC)
    assert beating(target="telegram").plan.telling == Announce(channel="telegram")
    assert beating(session="agent:main:telegram:direct:7").plan.key == SessionKey.parse(
        "agent:main:telegram:direct:7"
    )


def test_an_agent_whose_span_is_nothing_does_not_look_around() -> None:
    settings = Settings.model_validate({"agents": {"defaults": {"heartbeat": {"every": "0m"}}}})
    assert beats(settings, UTC) == {}


@pytest.mark.parametrize("wrong", [{"every": "10ms"}, {"session": "agent:nobody"}])
def test_a_look_around_that_makes_no_sense_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigInvalid, match="the heartbeat of main"):
        beating(**wrong)
