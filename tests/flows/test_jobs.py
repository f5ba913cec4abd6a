"""Jobs as clients set them, and what their agents do by them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roost.core.jobs import Job
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, UserMessage
from roost.core.models import FailureKind
from roost.core.principals import OWNER
from roost.core.schedules import At
from roost.core.sources import cron_key
from roost.testing.scripts import Fail, Say
from roost.testing.wires import Refused
from tests.flows.served import Gate, Opened, gates, send

MAIN = SessionKey.named("main", "main")
DAILY: dict[str, Any] = {
    "name": "weather",
    "schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "Europe/Berlin"},
    "sessionTarget": "isolated",
    "wakeMode": "now",
    "payload": {"kind": "agentTurn", "message": "how is the weather?"},
}
EVENT: dict[str, Any] = {
    **DAILY,
    "name": "tea",
    "sessionTarget": "main",
    "payload": {"kind": "systemEvent", "text": "the tea is ready"},
}


async def settled(gate: Gate) -> None:
    await gate.engine.settled()


async def test_a_job_that_no_clock_shows_is_refused_and_leaves_the_list_as_it_was(opened: Opened) -> None:
    async with opened() as (_, client):
        job = await client.call("cron.add", DAILY)
        beyond: tuple[dict[str, Any], ...] = (
            {"kind": "at", "at": "999999999d"},
            {"kind": "at", "at": "999999999999999"},
            {"kind": "at", "at": "9999-12-31T23:59:59-14:00"},
            {"kind": "at", "at": "0001-01-01T00:00:00+14:00"},
            {"kind": "every", "everyMs": 60_000, "anchorMs": 2**62},
        )
        for schedule in beyond:
            with pytest.raises(Refused, match="INVALID_REQUEST"):
                await client.call("cron.add", {**EVENT, "schedule": schedule})
            with pytest.raises(Refused, match="INVALID_REQUEST"):
                await client.call("cron.update", {"id": job["id"], "patch": {"schedule": schedule}})
        assert (await client.call("cron.list"))["jobs"] == [job]


async def test_a_job_that_no_clock_shows_and_an_earlier_build_took_is_listed_and_can_be_removed(
    opened: Opened,
) -> None:
    async with opened() as (gate, client):
        job = await client.call("cron.add", {**EVENT, "schedule": {"kind": "at", "at": "2d"}})

        def taken(known: Job | None) -> Job | None:
            return known and replace(known, plan=replace(known.plan, schedule=At(at=10**16)), next_at=10**16)

        await gate.bench.store.change_job(job["id"], taken)
        (listed,) = (await client.call("cron.list"))["jobs"]
        assert listed["schedule"] == {"kind": "at", "at": "9999-01-01T00:00:00Z"}
        await client.call("cron.remove", {"id": listed["id"]})
        assert (await client.call("cron.list"))["jobs"] == []


async def test_a_job_is_set_shown_changed_and_removed(opened: Opened) -> None:
    async with opened() as (_, client):
        job = await client.call("cron.add", DAILY)
        assert (job["name"], job["enabled"], job["sessionTarget"]) == ("weather", True, "isolated")
        assert job["schedule"] == DAILY["schedule"]
        assert job["state"]["nextRunAtMs"] > job["createdAtMs"]
        told = await client.event("cron", action="added")
        assert told["job"] == job
        page = await client.call("cron.list", {"includeDisabled": True, "limit": 50, "offset": 0})
        assert page["jobs"] == [job]
        assert page["snapshotRevision"]
        assert (page["total"], page["hasMore"], page["nextOffset"]) == (1, False, None)
        assert await client.call("cron.get", {"id": job["id"]}) == job
        status = await client.call("cron.status")
        assert (status["enabled"], status["jobs"]) == (True, 1)
        assert status["nextWakeAtMs"] == job["state"]["nextRunAtMs"]
        paused = await client.call("cron.update", {"id": job["id"], "patch": {"enabled": False}})
        assert (paused["enabled"], paused["state"]) == (False, {})
        assert (await client.call("cron.list"))["jobs"] == []
        other: dict[str, Any] = {
            "name": "news",
            "schedule": {"kind": "every", "everyMs": 60_000, "anchorMs": 5},
            "delivery": {"mode": "announce", "channel": "telegram", "to": "7"},
            "enabled": True,
            "overlap": "wait",
            "missed": "skip",
        }
        with pytest.raises(Refused, match="there is no channel telegram"):
            await client.call("cron.update", {"jobId": job["id"], "patch": other})
        other["delivery"]["channel"] = "loopback"
        changed = await client.call("cron.update", {"jobId": job["id"], "patch": other})
        assert changed["schedule"] == other["schedule"]
        assert (changed["overlap"], changed["missed"], changed["configRevision"]) == ("wait", "skip", "3")
        assert changed["delivery"]["to"] == "7"
        assert await client.call("cron.remove", {"id": job["id"]}) == {"ok": True, "removed": True}
        with pytest.raises(Refused, match="no job"):
            await client.call("cron.remove", {"id": job["id"]})


async def test_pages_add_up(opened: Opened) -> None:
    async with opened() as (_, client):
        for number in range(5):
            await client.call("cron.add", {**DAILY, "name": f"job {number}"})
        first = await client.call("cron.list", {"limit": 2, "sortBy": "name"})
        assert ([job["name"] for job in first["jobs"]], first["nextOffset"]) == (["job 0", "job 1"], 2)
        last = await client.call("cron.list", {"limit": 2, "offset": 4, "sortBy": "name"})
        assert ([job["name"] for job in last["jobs"]], last["nextOffset"]) == (["job 4"], None)
        assert first["snapshotRevision"] == last["snapshotRevision"]
        newest = await client.call("cron.list", {"sortBy": "updatedAtMs", "sortDir": "desc", "limit": 1})
        stamps = [job["updatedAtMs"] for job in (await client.call("cron.list"))["jobs"]]
        assert newest["jobs"][0]["updatedAtMs"] == max(stamps)
        assert (await client.call("cron.list", {"query": "JOB 3"}))["total"] == 1
        assert (await client.call("cron.list", {"scheduleKind": "at"}))["total"] == 0


@pytest.mark.requirement("D04")
@pytest.mark.requirement("D45")
async def test_a_job_that_is_run_now_works_in_a_session_id_of_its_own_each_time(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("sunny"),), (Say("rainy"),))
        job = await client.call("cron.add", DAILY)
        for turn in (1, 2):
            ran = await client.call("cron.run", {"id": job["id"]})
            assert (ran["ok"], ran["enqueued"]) == (True, True)
            assert ran["runId"].startswith(f"manual:{job['id']}:")
            await settled(gate)
            history = await client.call("cron.runs", {"id": job["id"], "limit": 10})
            assert [row["status"] for row in history["entries"]] == ["ok"] * turn
        rows = history["entries"]
        assert [row["summary"] for row in rows] == ["rainy", "sunny"]
        assert rows[0]["sessionKey"] == f"agent:main:cron:{job['id']}"
        assert rows[0]["sessionId"] != rows[1]["sessionId"]
        for request in gate.bench.model.requests:
            (asked,) = request.messages
            assert "[Scheduled event]" in asked.content[0].text  # type: ignore[union-attr]
        assert await client.call("cron.run", {"id": job["id"], "mode": "due"}) == {
            "ok": True,
            "enqueued": False,
            "runId": None,
            "processInstanceId": "boot",
        }
        await client.call("cron.update", {"id": job["id"], "patch": {"enabled": False}})
        assert not (await client.call("cron.run", {"id": job["id"], "mode": "if-enabled"}))["enqueued"]
        shown = await client.call("cron.get", {"id": job["id"]})
        assert (shown["state"]["lastRunStatus"], "lastError" in shown["state"]) == ("ok", False)


async def test_an_event_waits_for_the_next_message_and_is_shown_with_its_source(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("hello"),), (Say("enjoy"),))
        await client.call("chat.send", send("hi", "one"))
        await settled(gate)
        before = await gate.bench.store.session(MAIN)
        job = await client.call("cron.add", EVENT)
        await client.call("cron.run", {"id": job["id"]})
        await client.call("wake", {"mode": "next-heartbeat", "text": "it rains"})
        after = await gate.bench.store.session(MAIN)
        assert before is not None
        assert after is not None
        assert (after.route, after.origin, after.times.interacted, after.session_id) == (
            before.route,
            before.origin,
            before.times.interacted,
            before.session_id,
        )
        assert len(gate.bench.model.requests) == 1
        await client.call("chat.send", send("anything new?", "two"))
        await settled(gate)
        entries = await gate.bench.store.entries(after.session_id, after=2)
        sources = [entry.body.provenance for entry in entries if isinstance(entry.body, UserMessage)]
        assert sources == [
            Provenance(kind="schedule", principal=OWNER, source_tool=f"cron:{job['id']}"),  # type: ignore[arg-type]
            Provenance(kind="system", principal=OWNER, source_tool="wake"),  # type: ignore[arg-type]
            Provenance(kind="human", principal=OWNER),  # type: ignore[arg-type]
        ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schedule": {"kind": "cron", "expr": "every day"}}, "no cron expression"),
        ({"schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "Mars/Base"}}, "no time zone"),
        ({"schedule": {"kind": "at", "at": "2001-01-01T00:00:00Z"}}, "would never be due"),
        ({"schedule": {"kind": "at", "at": "soon"}}, "no moment"),
        ({"schedule": {"kind": "every", "everyMs": 10}}, "no schedule"),
        ({"schedule": {"kind": "on-exit", "command": "x"}}, "does not match"),
        ({"payload": {"kind": "command", "argv": ["rm"]}}, "does not match"),
        ({"payload": {"kind": "systemEvent", "text": "x"}}, "isolated session has none"),
        ({"agentId": "nobody"}, "unknown agent"),
        ({"sessionTarget": "session:agent:nobody:x"}, "unknown agent"),
        ({"sessionTarget": "current"}, "the session that asks"),
        ({"delivery": {"mode": "webhook"}}, "needs an address"),
        ({"delivery": {"mode": "webhook", "to": "file:///etc/passwd"}}, "no web address"),
        ({"delivery": {"mode": "announce", "to": "7"}}, "a channel and a place"),
        ({"approved": True}, "unexpected property"),
    ],
)
async def test_a_job_that_makes_no_sense_is_refused_and_not_kept(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        with pytest.raises(Refused, match=told):
            await client.call("cron.add", {**DAILY, **changes})
        assert await gate.bench.store.jobs() == ()


async def test_a_job_may_work_in_a_session_it_names(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        gate.bench.model.add((Say("done"),))
        named = {**DAILY, "sessionTarget": "current", "sessionKey": "agent:helper:garden"}
        job = await client.call("cron.add", named)
        assert (job["sessionTarget"], job["agentId"]) == ("session:agent:helper:garden", "helper")
        renamed = await client.call("cron.update", {"id": job["id"], "patch": {"name": "green"}})
        assert renamed["sessionTarget"] == job["sessionTarget"]
        await client.call("cron.run", {"id": job["id"]})
        await settled(gate)
        assert await gate.bench.store.session(SessionKey.named("helper", "garden")) is not None
        assert await gate.bench.store.session(cron_key("helper", job["id"])) is None


async def test_timers_are_the_owners(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate, gate.client() as owner:
        job = await owner.call("cron.add", DAILY)
        async with gate.client(auth={"token": "alice-token"}) as alice:
            await owner.call("cron.update", {"id": job["id"], "patch": {"name": "secret plans"}})
            await owner.event("cron", action="updated")
            for method in ("cron.list", "cron.add", "cron.get", "cron.remove", "cron.run", "cron.runs"):
                with pytest.raises(Refused, match="for the owner of the gateway"):
                    await alice.call(method, {"id": job["id"]})
            assert alice.told("cron") == []
        async with gate.client(scopes=["operator.write"]) as reader:
            assert (await reader.call("cron.list"))["total"] == 1
            for method, params in (("cron.add", DAILY), ("cron.run", {"id": job["id"]})):
                with pytest.raises(Refused, match="missing scope"):
                    await reader.call(method, params)


async def test_the_owner_hears_when_a_job_begins_and_how_it_ends(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.add((Say("sunny"),), (Fail(FailureKind.AUTH),))
        job = await client.call("cron.add", DAILY)
        async with gate.client(auth={"token": "alice-token"}) as alice:
            await client.call("cron.run", {"id": job["id"]})
            begun = await client.event("cron", action="started", jobId=job["id"])
            assert (begun["jobName"], "status" in begun) == ("weather", False)
            ended = await client.event("cron", action="finished", status="ok")
            assert (ended["summary"], ended["runId"]) == ("sunny", begun["runId"])
            assert ended["nextRunAtMs"] == job["state"]["nextRunAtMs"]
            await client.call("cron.run", {"id": job["id"]})
            failed = await client.event("cron", action="finished", status="error")
            assert failed["error"]
            actions = [one["action"] for one in client.told("cron", jobId=job["id"])]
            assert actions == ["added", "started", "finished", "started", "finished"]
            assert alice.told("cron") == []


async def test_what_came_of_all_jobs_is_one_history_in_pages_that_add_up(opened: Opened) -> None:
    async with opened() as (gate, client):
        gate.bench.model.otherwise = (Say("done"),)
        jobs = [await client.call("cron.add", {**DAILY, "name": name}) for name in ("a", "b", "c")]
        for job in jobs:
            await client.call("cron.run", {"id": job["id"]})
            await settled(gate)
        await client.call("cron.remove", {"id": jobs[0]["id"]})
        first = await client.call("cron.runs", {"scope": "all", "limit": 2})
        assert [row.get("jobName") for row in first["entries"]] == ["c", "b"]
        assert (first["total"], first["hasMore"], first["nextOffset"]) == (3, True, 2)
        rest = await client.call("cron.runs", {"scope": "all", "limit": 2, "offset": 2})
        assert [(row["jobId"], row.get("jobName")) for row in rest["entries"]] == [(jobs[0]["id"], None)]
        assert (rest["hasMore"], rest["nextOffset"]) == (False, None)
        with pytest.raises(Refused, match="which job"):
            await client.call("cron.runs", {"limit": 2})
