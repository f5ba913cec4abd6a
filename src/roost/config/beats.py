"""The look-arounds of agents, from the configuration."""

from datetime import tzinfo
from zoneinfo import ZoneInfo

from roost.config.agents import ActiveHours, Agent, Heartbeat
from roost.config.settings import Settings
from roost.core.errors import ConfigInvalid, InvalidInput
from roost.core.heartbeats import PROMPT, Beat, Beating, Hours
from roost.core.jobs import SILENT, AgentTurn, Announce, JobPlace, Missed, Overlap, Plan, Telling
from roost.core.keys import SessionKey
from roost.core.schedules import Every

LAST, NONE = "last", "none"


def beats(settings: Settings, zone: tzinfo) -> dict[str, Beating]:
    """By agent; one whose span is 0 does not look around."""
    main_name = settings.session.main_key
    return {
        agent.id: _beating(agent, main_name, zone)
        for agent in settings.agents.list
        if agent.heartbeat.every.milliseconds > 0
    }


def _beating(agent: Agent, main_name: str, zone: tzinfo) -> Beating:
    own = agent.heartbeat
    try:
        plan = Plan(
            name=f"look-around of {agent.id}",
            agent=agent.id,
            schedule=Every(every_ms=own.every.milliseconds, anchor=0),
            work=AgentTurn(message=own.prompt or PROMPT),
            place=JobPlace.BESIDE,
            key=_key(agent.id, own.session, main_name),
            telling=_telling(own.target),
            missed=Missed.SKIP,
            overlap=Overlap.WAIT,
        )
    except InvalidInput as error:
        raise ConfigInvalid(f"the heartbeat of {agent.id}: {error.message}", hint=error.hint) from error
    return Beating(plan=plan, beat=_beat(own, zone))


def _key(agent: str, session: str, main_name: str) -> SessionKey:
    if session == "main":
        return SessionKey.named(agent, main_name)
    return SessionKey.parse(session if session.startswith("agent:") else f"agent:{agent}:{session}")


def _telling(target: str) -> Telling:
    if target == NONE:
        return SILENT
    return Announce(channel=None if target == LAST else target)


def _beat(own: Heartbeat, zone: tzinfo) -> Beat:
    hours = None if own.active_hours is None else _hours(own.active_hours, zone)
    return Beat(pause_ms=own.pause_after.milliseconds, hours=hours, ack_chars=own.ack_max_chars)


def _hours(own: ActiveHours, zone: tzinfo) -> Hours:
    place = zone if own.timezone is None else ZoneInfo(own.timezone)
    return Hours(start=_minute(own.start), end=_minute(own.end), zone=place)


def _minute(clock: str) -> int:
    hour, minute = clock.split(":")
    return int(hour) * 60 + int(minute)
