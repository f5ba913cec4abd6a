"""What models cost, as clients ask for it, over each store."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from roost.core.figures import DAY_MS
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import ToolCall, Usage
from roost.core.principals import OWNER
from roost.core.runs import RunKind
from roost.protocol.families.usage import Span
from roost.server.handlers.days import FIRST_DAY, days_of
from roost.server.handlers.usage import MOST
from roost.testing.clock import NOON
from roost.testing.crashing import Crashes, CrashingStore
from roost.testing.scripts import CallTool, Say, Spend
from roost.testing.wires import LocalClient, Refused
from tests.flows.gateways import benches
from tests.flows.guards import open_for
from tests.flows.served import PEOPLE, Gate, Opened, gate_of, send

DOLLAR = 1_000_000
MANY = 1_100
"""More than a page of the longest list."""
ALICE = {"auth": {"token": "alice-token"}}


async def talk(gate: Gate, client: LocalClient, *costs: int) -> None:
    """One turn a cost, in dollars."""
    for number, cost in enumerate(costs):
        usage = Usage(input=10, output=5, cost_micros=cost * DOLLAR)
        gate.bench.model.add((Say(f"answer {number}"), Spend(usage)))
        await client.call("chat.send", send(f"question {number}", f"run-{number}"))
        await client.event("chat", runId=f"run-{number}", state="final")
    await gate.engine.settled()


def dear_call(key: SessionKey, at: int) -> LedgerRow:
    return LedgerRow(
        id=f"call-{key}",
        at=at,
        key=key,
        session_id=f"{key}-1",
        principal=OWNER,
        run_id="r-1",
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(cost_micros=2 * DOLLAR),
    )


async def test_what_was_spent_is_told_day_by_day(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, 1, 2)
        told = await client.call("usage.cost", {"days": 7})
        assert (told["days"], told["totals"]["totalCost"], told["totals"]["calls"]) == (7, 3.0, 2)
        (day,) = told["daily"]
        assert (day["totalCost"], day["totalTokens"]) == (3.0, 30)
        today = day["date"]
        alone = await client.call("usage.cost", {"startDate": today, "endDate": today, "mode": "utc"})
        assert (alone["days"], alone["totals"]["calls"]) == (1, 2)
        assert (await client.call("usage.cost", {}))["days"] == 30
        before = await client.call("usage.cost", {"startDate": "2020-01-01", "endDate": "2020-01-31"})
        assert (before["days"], before["daily"], before["totals"]["calls"]) == (31, [], 0)
        assert (await client.call("usage.cost", {"agentId": "helper"}))["totals"]["calls"] == 0


@pytest.mark.parametrize("method", ["usage.cost", "sessions.usage"])
@pytest.mark.parametrize("day", ["yesterday", "0001-01-01", "9999-12-31"])
async def test_a_day_that_is_none_is_refused(method: str, day: str, opened: Opened) -> None:
    async with opened() as (_, client):
        for field in ("startDate", "endDate"):
            with pytest.raises(Refused, match="is no day"):
                await client.call(method, {field: day})


async def test_the_calls_of_a_session_add_up_to_what_it_cost(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, 1, 2, 4)
        told = await client.call("sessions.usage.timeseries", {"key": "main"})
        assert [(one["cost"], one["cumulativeCost"]) for one in told["points"]] == [
            (1.0, 1.0),
            (2.0, 3.0),
            (4.0, 7.0),
        ]
        assert (told["points"][-1]["cumulativeTokens"], told["hasMore"]) == (45, False)
        newest = await client.call("sessions.usage.timeseries", {"key": "main", "limit": 2})
        assert ([one["cumulativeCost"] for one in newest["points"]], newest["hasMore"]) == ([3.0, 7.0], True)
        await client.call("sessions.reset", {"key": "main"})
        after = await client.call("sessions.usage.timeseries", {"key": "main"})
        assert after["points"] == told["points"]
        assert after["sessionId"] != told["sessionId"]


@pytest.mark.requirement("P19")
async def test_what_a_session_cost_is_added_up_from_the_ledger_through_every_reset(opened: Opened) -> None:
    async with opened() as (gate, client):
        await talk(gate, client, 1, 2)
        await client.call("sessions.reset", {"key": "main"})
        (row,) = (await client.call("sessions.usage", {"range": "7d"}))["sessions"]
        assert (row["usage"]["totalCost"], row["usage"]["totalTokens"]) == (3.0, 30)
        before = {"startDate": "2020-01-01", "endDate": "2020-01-31"}
        (row,) = (await client.call("sessions.usage", before))["sessions"]
        assert row["usage"]["totalCost"] == 0.0


async def test_a_session_that_is_not_among_the_dearest_is_told_with_what_it_cost(opened: Opened) -> None:
    async with opened() as (gate, client):
        dear = [SessionKey.parse(f"agent:main:explicit:dear-{number}") for number in range(MOST)]
        for key in dear:
            await open_for(gate.house.store, key, OWNER)
            await gate.house.store.record_usage(dear_call(key, gate.bench.clock.now()))
        await talk(gate, client, 1)
        told = await client.call("sessions.usage", {"limit": MOST, "range": "all"})
        costs = {row["key"]: row["usage"]["totalCost"] for row in told["sessions"]}
        assert costs.pop("agent:main:main") == 1.0
        assert set(costs.values()) == {2.0}
        assert "agent:main:main" not in [one["key"] for one in told["aggregates"]["bySession"]]


async def test_messages_are_logged_with_what_they_cost(opened: Opened) -> None:
    async with opened() as (gate, client):
        asking = (
            CallTool(ToolCall(id="c", name="absent", arguments={})),
            Spend(Usage(input=1, cost_micros=5)),
        )
        gate.bench.model.add(asking)
        await talk(gate, client, 1)
        logs = (await client.call("sessions.usage.logs", {"key": "main"}))["logs"]
        assert [one["role"] for one in logs] == ["user", "assistant", "toolResult", "assistant"]
        assert (logs[1]["content"], logs[1]["tokens"], logs[1]["cost"]) == ("[absent]", 1, 0.000005)
        assert (logs[3]["content"], logs[3]["cost"]) == ("answer 0", 1.0)
        (last,) = (await client.call("sessions.usage.logs", {"key": "main", "limit": 1}))["logs"]
        assert last == logs[3]


@pytest.mark.requirement("F5")
async def test_others_are_told_what_they_caused(opened: Opened) -> None:
    key = SessionKey.parse("agent:main:telegram:direct:7")
    async with opened() as (gate, owner), gate.client(**ALICE) as alice:
        await open_for(gate.house.store, key, PEOPLE["alice-token"])
        for client, cost in ((owner, 1), (alice, 2)):
            gate.bench.model.add((Say("words"), Spend(Usage(input=1, cost_micros=cost * DOLLAR))))
            await client.call("chat.send", send("hi", f"run-{cost}", sessionKey=str(key)))
            await client.event("chat", runId=f"run-{cost}", state="final")
        for client, costs in ((owner, [1.0, 2.0]), (alice, [2.0])):
            assert (await client.call("usage.cost", {}))["totals"]["totalCost"] == sum(costs)
            series = await client.call("sessions.usage.timeseries", {"key": str(key)})
            assert [one["cost"] for one in series["points"]] == costs
            assert series["points"][-1]["cumulativeCost"] == sum(costs)


async def test_all_of_it_needs_to_read(opened: Opened) -> None:
    async with opened() as (gate, _), gate.client(scopes=["operator.pairing"]) as client:
        with pytest.raises(Refused, match=r"missing scope: operator\.read"):
            await client.call("usage.cost", {})


async def test_messages_and_sessions_are_counted_beyond_the_page(opened: Opened) -> None:
    async with opened() as (gate, client):
        for number in range(3):
            await client.call("sessions.create", {"key": f"agent:main:explicit:{number}"})
        await talk(gate, client, 1)
        told = await client.call("sessions.usage", {"limit": 1})
        (row,) = told["sessions"]
        await client.call("sessions.patch", {"key": "agent:main:explicit:0", "label": "touched"})
        found = (await client.call("sessions.usage", {"limit": 1}))["aggregates"]
        assert (found["sessionCount"], found["messages"]["total"]) == (4, 2)
        alone = await client.call("sessions.usage", {"key": row["key"]})
        assert alone["aggregates"]["sessionCount"] == 1


LONG_DAY, SHORT_DAY = datetime(2025, 10, 26, tzinfo=UTC), datetime(2025, 3, 30, tzinfo=UTC)


@pytest.mark.parametrize("method", ["usage.cost", "sessions.usage"])
async def test_days_are_those_of_the_place_that_is_asked_for(method: str, opened: Opened) -> None:
    async with opened() as (gate, client):
        await client.call("sessions.create", {"key": "main"})
        key = SessionKey.parse("agent:main:main")
        for day in (SHORT_DAY, LONG_DAY):
            for hours in (-3, -1, 20.5, 22.5, 23.5):
                at = int((day.timestamp() + hours * 3600) * 1000)
                call = replace(dear_call(key, at), id=f"{day} {hours}")
                await gate.house.store.record_usage(call)

        async def counted(first: str, last: str, **zone: str) -> dict[str, int]:
            told = await client.call(method, {"startDate": first, "endDate": last, **zone})
            daily = told["daily"] if method == "usage.cost" else told["aggregates"]["costDaily"]
            assert sum(one["calls"] for one in daily) == told["totals"]["calls"]
            return {one["date"]: one["calls"] for one in daily}

        utc = {"2025-10-25": 2, "2025-10-26": 3}
        assert await counted("2025-10-25", "2025-10-27") == utc
        assert await counted("2025-10-25", "2025-10-27", mode="utc") == utc
        rome = {"timeZone": "Europe/Rome", "utcOffset": "UTC+2", "mode": "specific"}
        # That day has 25 hours there, and the other 23.
        assert await counted("2025-10-25", "2025-10-27", **rome) == {
            "2025-10-25": 1,
            "2025-10-26": 3,
            "2025-10-27": 1,
        }
        assert await counted("2025-03-29", "2025-03-31", timeZone="Europe/Rome") == {
            "2025-03-29": 1,
            "2025-03-30": 2,
            "2025-03-31": 2,
        }
        assert await counted("2025-10-26", "2025-10-26", utcOffset="UTC+3:30") == {"2025-10-26": 2}
        for wrong, told in (
            ({"timeZone": "Nowhere/Land"}, "no time zone"),
            ({"utcOffset": "+02:00"}, "UTC-3:30"),
            ({"mode": "specific"}, "give `timeZone`"),
            ({"mode": "utc", "timeZone": "Europe/Rome"}, "give `mode` specific"),
        ):
            with pytest.raises(Refused, match=told):
                await client.call(method, wrong)


def begins(day: date, zone: ZoneInfo) -> int:
    return int(datetime.combine(day, time(), zone).timestamp() * 1000)


@pytest.mark.parametrize(
    "name",
    [
        "Europe/Rome",
        "America/St_Johns",  # a minute after midnight
        "America/Sao_Paulo",  # some days begin at one
        "Australia/Lord_Howe",  # by half an hour
        "Pacific/Apia",  # one day is left out
        "Pacific/Kwajalein",
        "Africa/Monrovia",  # by less than a minute
        "Africa/Casablanca",
    ],
)
def test_a_day_has_all_that_happened_between_its_midnights_however_long_it_is(name: str) -> None:
    zone = ZoneInfo(name)
    days = days_of(Span.model_validate({"timeZone": name, "mode": "specific"}), None, zone, NOON)
    calendar = days.calendar(NOON)
    lengths = Counter[int]()
    for number in range((days.last - FIRST_DAY).days + 1):
        day = FIRST_DAY + timedelta(days=number)
        since, until = begins(day, zone), begins(day + timedelta(days=1), zone)
        lengths[until - since] += 1
        if since < until:
            assert {calendar.day(at) for at in (since, (since + until) // 2, until - 1)} == {number}
    assert lengths[DAY_MS] < lengths.total()
    assert len(calendar.shifts) <= 2 * (lengths.total() - lengths[DAY_MS])


ASKED = tuple(f"store.{verb}" for verb in ("list_sessions", "spending", "spoken", "dearest", "usage"))


async def test_the_store_is_asked_no_more_often_for_many_sessions_and_many_changes_of_the_clock(
    tmp_path: Path,
) -> None:
    crashes = Crashes()
    async with benches("memory", tmp_path) as bench:
        bench.store = CrashingStore(bench.store, crashes)
        async with gate_of(bench, tmp_path) as gate, gate.client() as client:

            async def asked(**params: object) -> int:
                before = Counter(crashes.calls)
                told = await client.call("sessions.usage", {"limit": MOST, **params})
                assert told["aggregates"]["sessionCount"] == told["totals"]["calls"] == here
                return sum((Counter(crashes.calls) - before)[verb] for verb in ASKED)

            here = 0
            few = await asked()
            for here in range(1, MANY + 1):
                key = SessionKey.parse(f"agent:main:explicit:{here}")
                await open_for(bench.store, key, OWNER)
                await bench.store.record_usage(dear_call(key, bench.clock.now()))
            assert few == 6
            assert await asked() == few
            assert await asked(range="all", timeZone="Europe/Rome", mode="specific") == few
