"""What went into the task of a child, as the decision on the end of each of its runs sees it."""

import pytest

from roost.core.effects import Effects, OweCompletion, QueueRun, RecordUsage
from roost.core.exchanges import Completion
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Request, RunKind
from roost.core.snapshots import Labour, RunSnapshot
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import Seen, change, claim_of, everything, opened, started
from tests.contract.test_store_facts import call, total

CHILD = SessionKey.parse("agent:main:subagent:one")
Advance = Seen[RunSnapshot, Effects]


@pytest.mark.requirement("D29")
async def test_the_end_of_a_childs_run_sees_since_when_it_was_at_its_task_and_what_its_session_used(
    store: Store, lease: Lease
) -> None:
    spent = call(1, CHILD), call(2, CHILD)
    parents = await started(store, lease, "r-1")
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    owed = Completion(child_run="c-1", child=CHILD, requester=MAIN, batch="r-1", created_at=NOON)
    await change(
        store,
        OweCompletion(completion=owed),
        QueueRun(run=builders.run("c-1", CHILD, request=Request(requester=MAIN))),
        *(RecordUsage(row=row) for row in (*spent, call(3, MAIN))),
    )
    (run,) = await store.claim_runs(lease, everything)
    announce = Request(kind=RunKind.ANNOUNCE, requester=MAIN, completes="c-1")
    seen = Advance((builders.done("c-1"), QueueRun(run=builders.run("a-1", CHILD, request=announce))))
    await store.finish_run(claim_of(run), seen)
    task = Labour(began=run.started_at, used=total(*spent).usage)
    assert (run.started_at is not None, seen.last.labour) == (True, task)

    (announcing,) = await store.claim_runs(lease, everything)
    seen = Advance((builders.done("a-1"),))
    await store.finish_run(claim_of(announcing), seen)
    assert seen.last.labour == task
    seen = Advance((builders.done("r-1"),))
    await store.finish_run(parents, seen)
    assert seen.last.labour == Labour()
