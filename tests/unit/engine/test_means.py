from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.budgets import Budgets, BudgetScope, Limit, Measure
from roost.core.deliveries import DeliveryState
from roost.core.effects import AcceptInput, QueueRun
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.models import ModelRequest
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery
from roost.core.runs import Request, Run, RunKind, RunState
from roost.engine.means import CallMeans, HasToWait
from roost.engine.work import Work
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.flows.gateways import SPEC
from tests.unit.engine.scenes import HOME, Scene, everything

CHILD = SessionKey.parse("agent:main:subagent:one")
DESK = Address(channel="loopback", to="desk")
REQUEST = ModelRequest(spec=SPEC, system="", messages=())


def call(run: Run) -> LedgerRow:
    return LedgerRow(
        id="call",
        at=NOON,
        key=run.key,
        session_id="gen-1",
        principal=OWNER,
        run_id=run.id,
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(),
    )


def limited(work: Work, hard: int, scope: BudgetScope = BudgetScope.DAY) -> Work:
    limits = (Limit(scope=scope, measure=Measure.TOKENS, hard=hard),)
    return replace(work, budgets=Budgets(limits=limits, met=lambda session: session.route))


async def test_without_limits_nothing_is_asked_for() -> None:
    scene = Scene()
    run = await scene.claimed()
    means = CallMeans(await scene.work(run))
    await means.reserve(call(run), REQUEST)
    await scene.store.release(call(run).id)
    assert await scene.store.run(run.id) == run


async def test_within_the_limits_the_run_goes_on() -> None:
    scene = Scene()
    run = await scene.claimed()
    await CallMeans(limited(await scene.work(run), SPEC.max_tokens)).reserve(call(run), REQUEST)
    assert await scene.store.run(run.id) == run


async def test_what_is_released_can_be_held_again() -> None:
    scene = Scene()
    run = await scene.claimed()
    means = CallMeans(limited(await scene.work(run), SPEC.max_tokens))
    for _ in range(3):
        await means.reserve(call(run), REQUEST)
        await scene.store.release(call(run).id)
    assert (await scene.store.usage(LedgerQuery())).calls == 0


async def test_beyond_them_it_has_to_wait_and_its_chat_is_told() -> None:
    scene = Scene()
    run = await scene.claimed()
    with pytest.raises(HasToWait):
        await CallMeans(limited(await scene.work(run), 10)).reserve(call(run), REQUEST)
    after = await scene.store.run(run.id)
    assert after is not None
    assert (after.state, after.parked is None) == (RunState.QUEUED, False)
    (told,) = await scene.store.deliveries(DeliveryState.INTENT, 10)
    assert told.address == run.request.reply_to


@pytest.mark.requirement("F2")
async def test_a_child_is_charged_to_its_tree_and_its_parents_chat_is_told() -> None:
    scene = Scene()
    lease = await scene.store.acquire_lease(HOME)
    message = builders.inbound("m1", CHILD)
    run = replace(builders.run("r1", CHILD), request=Request(requester=MAIN))
    met = builders.session()._replace(route=DESK)
    await scene.store.change_session(MAIN, lambda _: (builders.opening(met, "gen-1"),))
    await scene.store.accept_inbound(
        message,
        lambda _: (
            builders.opening(builders.session(CHILD, parent=MAIN), "gen-2"),
            QueueRun(run=run),
            AcceptInput(inbound=message, run_id=run.id, mode=InputMode.OPEN),
        ),
    )
    (run,) = await scene.store.claim_runs(lease, everything)
    with pytest.raises(HasToWait):
        await CallMeans(limited(await scene.work(run), 10, BudgetScope.TREE)).reserve(call(run), REQUEST)
    (told,) = await scene.store.deliveries(DeliveryState.INTENT, 10)
    assert (told.address, told.key) == (DESK, CHILD)


async def test_where_a_tree_was_never_met_nobody_is_told() -> None:
    scene = Scene()
    run = await scene.claimed(request=Request())
    with pytest.raises(HasToWait):
        await CallMeans(limited(await scene.work(run), 10)).reserve(call(run), REQUEST)
    assert await scene.store.deliveries(DeliveryState.INTENT, 10) == ()
    assert len(await scene.store.denials(10)) == 1
