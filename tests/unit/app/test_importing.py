"""Conversations from elsewhere, into the store that is configured."""

from pathlib import Path

import pytest

from roost.app.bundling import bundle_session
from roost.app.importing import import_folder, import_packed
from roost.app.opening import open_held_store, open_store
from roost.config import load
from roost.core.errors import Conflict, LeaseHeld
from roost.core.leases import Gateway
from roost.core.queries import SessionQuery
from roost.transfer.report import ImportReport, Item, Result
from tests import postgres

FIXTURE = Path(__file__).parents[2] / "fixtures" / "openclaw"


async def imported(home: Path, *, dry_run: bool) -> tuple[ImportReport, int]:
    loaded, seen = load({"ROOST_HOME": str(home)}), list[Item]()
    report = await import_folder(loaded, FIXTURE, agent=None, dry_run=dry_run, progress=seen.append)
    assert tuple(seen) == report.items
    async with open_store(loaded) as store:
        return report, len((await store.list_sessions(SessionQuery(archived=None, limit=100))).rows)


async def test_a_trial_keeps_nothing_and_tells_the_same(tmp_path: Path) -> None:
    tried, kept = await imported(tmp_path, dry_run=True)
    assert kept == 0
    done, kept = await imported(tmp_path, dry_run=False)
    assert kept > 0
    assert tried.lines() == done.lines()


@pytest.mark.requirement("S25")
async def test_sessions_of_an_agent_that_there_is_not_are_left_out_until_there_is(tmp_path: Path) -> None:
    first, _ = await imported(tmp_path, dry_run=False)
    (left,) = [item for item in first.items if "agents/ops/" in item.source]
    assert (left.result, left.key) == (Result.SKIPPED, None)
    assert left.reason == "there is no agent ops here; configure it and import again"
    (tmp_path / "roost.json").write_text('{agents: {list: [{id: "main", default: true}, {id: "ops"}]}}')
    second, _ = await imported(tmp_path, dry_run=False)
    assert {str(item.key) for item in second.items if item.result is Result.IMPORTED} == {"agent:ops:main"}


async def test_a_store_that_is_served_is_not_written_to(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_held_store(loaded, Gateway(name="other", holder="process 1")):
        with pytest.raises(LeaseHeld, match="process 1"):
            await imported(tmp_path, dry_run=False)


async def test_a_server_takes_conversations_in_beside_the_gateways_that_serve(
    tmp_path: Path, postgres_server: str
) -> None:
    here = load({"ROOST_HOME": str(tmp_path / "a")})
    there = load({"ROOST_HOME": str(tmp_path / "b"), "ROOST_DATABASE_URL": postgres_server})
    await postgres.empty(postgres_server)
    await import_folder(here, FIXTURE, agent=None, dry_run=False, progress=list[Item]().append)
    await bundle_session(here, "main", file := tmp_path / "x.zip")
    async with open_held_store(there, Gateway(name="other", holder="process 1")) as store:
        packed = await import_packed(there, file, agent=None, fork=True, dry_run=False)
        report = await import_folder(there, FIXTURE, agent=None, dry_run=False, progress=list[Item]().append)
        kept = (await store.list_sessions(SessionQuery(archived=None, limit=100))).rows
    assert packed.complete
    assert report.entries > 0
    assert len(kept) > len(packed.items) > 0


async def test_a_bundle_is_taken_in_tried_and_forked(tmp_path: Path) -> None:
    here, there = (load({"ROOST_HOME": str(tmp_path / name)}) for name in ("a", "b"))
    await import_folder(here, FIXTURE, agent=None, dry_run=False, progress=list[Item]().append)
    file = tmp_path / "x.zip"
    await bundle_session(here, "main", file)

    async def taken(*, fork: bool = False, dry_run: bool = False) -> tuple[ImportReport, int]:
        report = await import_packed(there, file, agent=None, fork=fork, dry_run=dry_run)
        async with open_store(there) as store:
            return report, len((await store.list_sessions(SessionQuery(archived=None))).rows)

    tried, kept = await taken(dry_run=True)
    assert kept == 0
    done, kept = await taken()
    assert (done.lines(), kept) == (tried.lines(), len(done.items))
    with pytest.raises(ExceptionGroup) as refused:
        await taken()
    assert isinstance(refused.value.exceptions[0], Conflict)
    assert (await taken(fork=True))[1] == 2 * kept
