"""Jobs for tests, and the clocks they go by."""

from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from roost.core.jobs import AgentTurn, Job, Plan, Venue, venue
from roost.core.occasions import Moment
from roost.core.ownership import Ownership
from roost.core.principals import OWNER, Principal
from roost.core.schedules import Every
from roost.testing.clock import NOON

STEP = 1_000
TURN = AgentTurn(message="look at the weather")


def zones(name: str | None) -> tzinfo:
    return UTC if name is None else ZoneInfo(name)


def plan(**changes: object) -> Plan:
    base = Plan(name="weather", agent="main", schedule=Every(every_ms=STEP, anchor=NOON), work=TURN)
    return replace(base, **changes)  # type: ignore[arg-type]


def job(name: str = "j1", *, owner: Principal = OWNER, next_at: int | None = NOON, **changes: Any) -> Job:
    return Job(id=name, owner=owner, plan=plan(**changes), created_at=NOON, updated_at=NOON, next_at=next_at)


def at_home(one: Job) -> Venue:
    return venue(one, "main")


def moment(now: int = NOON, **changes: object) -> Moment:
    base = Moment(
        now=now,
        zones=zones,
        ownership=Ownership(),
        session_id=f"generation-{now}",
        trace=f"trace-{now}",
        met=lambda session: session.route,
    )
    return replace(base, **changes)  # type: ignore[arg-type]
