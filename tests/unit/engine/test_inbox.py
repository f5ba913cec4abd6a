from dataclasses import replace

import pytest

from roost.core import queueing
from roost.core.addressed import Addressed, Commands
from roost.core.addresses import Account, Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy, PairingRequired
from roost.core.budgets import BudgetScope, Limit, Measure
from roost.core.effects import Effects
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.inbound import Inbound, InputMode
from roost.core.keys import SessionKey
from roost.core.messages import Text
from roost.core.principals import OWNER, person
from roost.core.queries import SessionQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.refusals import REPEATED_MS
from roost.core.runs import RunKind
from roost.core.sessions import OpenedBy
from roost.core.snapshots import Decide, Snapshot
from roost.core.threads import BindThread, ThreadBinding
from roost.engine.census import Census
from roost.engine.ids import FreshIds
from roost.engine.inbox import Inbox, TurnedAway
from roost.engine.rulebook import Rulebook
from roost.engine.stops import Stops
from roost.ports import Accepted
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.unit.engine.scenes import HOME, Scene, everything

BOUND = SessionKey.named("main", "bound")
THREAD = Address(channel="loopback", to="ada", thread="t1")


def dm(text: str, external_id: str, *, thread: str | None = None) -> Envelope:
    return Envelope(
        channel="loopback",
        sender=Sender(id="ada", name="Ada"),
        conversation=Conversation(chat_type=ChatType.DIRECT, peer="ada", thread=thread),
        text=text,
        external_id=external_id,
    )


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    door = ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))
    scene.rules = replace(scene.rules, doors={"loopback": door})
    return scene


def inbox(scene: Scene, stops: Stops | None = None) -> Inbox:
    store, clock, book = scene.store, scene.clock, Rulebook(scene.rules)
    census = Census(store, clock, book)
    return Inbox(store, clock, FreshIds(clock), book, stops or Stops(), (), census)


async def received(scene: Scene, envelope: Envelope) -> Accepted:
    accepted = await inbox(scene).receive(envelope)
    assert isinstance(accepted, Accepted)
    return accepted


async def test_who_is_not_let_in_leaves_a_denial_and_nothing_else(scene: Scene) -> None:
    scene.rules = replace(scene.rules, doors={})
    away = await inbox(scene).receive(dm("hi", "e1"))
    assert isinstance(away, TurnedAway)
    assert isinstance(away.decision, PairingRequired)
    (denial,) = await scene.store.denials(10)
    assert (denial.operation, denial.rule, denial.at) == ("inbound", away.decision.rule, scene.clock.now())
    assert str(denial.principal) == "person:loopback:ada"
    assert (await scene.store.list_sessions(SessionQuery())).rows == ()


async def test_who_is_let_in_is_asked_of_the_account_a_message_came_by(scene: Scene) -> None:
    closed = ChannelPolicy(dm_policy=DmPolicy.DISABLED)
    door = replace(scene.rules.door(Account("loopback")), accounts={"work": closed})
    scene.rules = replace(scene.rules, doors={"loopback": door})
    away = await inbox(scene).receive(replace(dm("hi", "e1"), account="work"))
    assert isinstance(away, TurnedAway)
    (denial,) = await scene.store.denials(10)
    assert denial.rule == "dmPolicy=disabled"
    await received(scene, dm("hi", "e2"))


async def test_talk_past_the_agent_is_noted_once_an_hour_in_each_group(scene: Scene) -> None:
    door = ChannelPolicy(group_policy=GroupPolicy.OPEN)
    scene.rules = replace(scene.rules, doors={"loopback": door})

    async def overheard(group: str) -> None:
        place = Conversation(chat_type=ChatType.GROUP, peer=group)
        away = await inbox(scene).receive(replace(dm("lunch?", "e1"), conversation=place))
        assert isinstance(away, TurnedAway)

    for group in ("g1", "g1", "g2", "g1"):
        await overheard(group)
    scene.clock.advance(REPEATED_MS)
    await overheard("g1")
    noted = [(str(one.caller), one.rule) for one in await scene.store.denials(10)]
    one, two = "agent:main:loopback:group:g1", "agent:main:loopback:group:g2"
    assert noted == [(key, "requireMention") for key in (one, two, one)]


async def test_a_stranger_is_noted_once_an_hour_and_again_where_another_rule_turns_them_away(
    scene: Scene,
) -> None:
    async def knock(name: str) -> None:
        stranger = replace(dm("let me in", "e1"), sender=Sender(id=name))
        assert isinstance(await inbox(scene).receive(stranger), TurnedAway)

    scene.rules = replace(scene.rules, doors={})
    for name in ("eve", "eve", "mallory", "eve"):
        await knock(name)
    scene.rules = replace(scene.rules, doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.DISABLED)})
    await knock("eve")
    scene.clock.advance(REPEATED_MS)
    await knock("eve")
    noted = [(one.principal.id, one.rule) for one in reversed(await scene.store.denials(10))]
    pairing, shut = "dmPolicy=pairing", "dmPolicy=disabled"
    assert noted == [
        ("loopback:eve", pairing),
        ("loopback:mallory", pairing),
        ("loopback:eve", shut),
        ("loopback:eve", shut),
    ]


async def test_a_stranger_who_tries_two_doors_by_turns_is_noted_once_an_hour_at_each(scene: Scene) -> None:
    door = ChannelPolicy(group_policy=GroupPolicy.ALLOWLIST)
    scene.rules = replace(scene.rules, doors={"loopback": door})
    group = Conversation(chat_type=ChatType.GROUP, peer="g1")
    for _ in range(3):
        for place in (dm("let me in", "e1").conversation, group):
            knock = replace(dm("let me in", "e1"), sender=Sender(id="eve"), conversation=place)
            assert isinstance(await inbox(scene).receive(knock), TurnedAway)
    noted = [one.rule for one in reversed(await scene.store.denials(10))]
    assert noted == ["dmPolicy=pairing", "groupPolicy=allowlist"]


async def test_a_message_that_comes_again_is_the_first_one(scene: Scene) -> None:
    first = await received(scene, dm("hi", "e1"))
    again = await received(scene, dm("hi", "e1"))
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.record.inbound.id == first.record.inbound.id


async def test_a_message_that_interrupts_ends_the_run_under_way(scene: Scene) -> None:
    mode = QueueSettings(mode=QueueMode.INTERRUPT, debounce_ms=0)
    scene.rules = replace(scene.rules, queue=QueuePolicy(base=mode))
    first = await received(scene, dm("one", "e1"))
    lease = await scene.store.acquire_lease(HOME)
    (run,) = await scene.store.claim_runs(lease, everything)
    assert run.id == first.record.run_id
    stops = Stops()
    with stops.around(run.id) as stop:
        await inbox(scene, stops).receive(dm("two", "e2"))
    assert stop.reason == queueing.INTERRUPTED


class Outrun(MemoryStore):
    """Another gateway took the same message, into another session, while this one decided."""

    async def accept_inbound(self, inbound: Inbound, decide: Decide) -> Accepted:
        accepted = await super().accept_inbound(inbound, decide)
        return replace(accepted, duplicate=inbound.source.external_id == "e2")


async def test_a_message_that_proves_to_be_a_duplicate_ends_nothing(scene: Scene) -> None:
    mode = QueueSettings(mode=QueueMode.INTERRUPT, debounce_ms=0)
    scene.rules = replace(scene.rules, queue=QueuePolicy(base=mode))
    scene.store = Outrun(scene.clock)
    await received(scene, dm("one", "e1"))
    lease = await scene.store.acquire_lease(HOME)
    (run,) = await scene.store.claim_runs(lease, everything)
    stops = Stops()
    with stops.around(run.id) as stop:
        await inbox(scene, stops).receive(dm("two", "e2"))
    assert stop.reason is None


@pytest.mark.requirement("D44")
async def test_a_reset_word_opens_a_generation_with_what_follows_it(scene: Scene) -> None:
    await received(scene, dm("one", "e1"))
    accepted = await received(scene, dm("/new two", "e2"))
    assert accepted.record.inbound.content == (Text("two"),)
    generations = await scene.store.generations(MAIN)
    assert [generation.opened_by for generation in generations] == [OpenedBy.FIRST, OpenedBy.NEW]
    assert generations[-1].rule == "trigger /new"


@pytest.mark.requirement("D44")
async def test_a_lone_reset_word_asks_for_a_greeting(scene: Scene) -> None:
    accepted = await received(scene, dm("/new", "e1"))
    run = await scene.store.run(accepted.record.run_id or "")
    assert run is not None
    assert run.request.kind is RunKind.GREETING
    assert accepted.record.mode is InputMode.OPEN


@pytest.mark.parametrize(("idle_ms", "routed"), [(0, True), (1, False)])
async def test_a_thread_bound_to_a_session_goes_there_until_the_binding_is_over(
    scene: Scene, idle_ms: int, *, routed: bool
) -> None:
    now = scene.clock.now()
    binding = ThreadBinding(
        address=THREAD, key=BOUND, bound_by=OWNER, bound_at=now, used_at=now, idle_ms=idle_ms
    )

    def bind(snapshot: Snapshot) -> Effects:
        return (builders.opening(builders.session(BOUND), "gen-bound"), BindThread(binding=binding))

    await scene.store.change_session(BOUND, bind)
    scene.clock.advance(1000)
    accepted = await received(scene, dm("hi", "e1", thread="t1"))
    assert accepted.record.inbound.reply_to == THREAD
    assert (accepted.record.inbound.key == BOUND) is routed
    used = await scene.store.thread_binding(THREAD)
    assert used is not None
    assert (used.used_at == scene.clock.now()) is routed


@pytest.mark.requirement("P20")
@pytest.mark.parametrize(("scope", "runs"), [(BudgetScope.DAY, 2), (BudgetScope.PERSON, 4)])
async def test_where_each_pays_for_himself_nobody_in_a_group_joins_anothers_run_by_any_door(
    scene: Scene, scope: BudgetScope, runs: int
) -> None:
    door = ChannelPolicy(group_policy=GroupPolicy.OPEN, require_mention=False)
    scene.rules = replace(
        scene.rules,
        doors={"loopback": door},
        queue=QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT)),
        budgets=(Limit(scope=scope, measure=Measure.TOKENS, hard=100),),
    )
    keys = []
    for name in ("bob", "carol"):
        room = Conversation(chat_type=ChatType.GROUP, peer="room")
        said = Envelope(
            channel="loopback", sender=Sender(id=name), conversation=room, text="hi", external_id=name
        )
        keys.append((await received(scene, said)).record.inbound.key)
    for name in ("bob", "carol"):
        who = person("loopback", name)
        await inbox(scene).say(
            Addressed(
                key=keys[0],
                principal=who,
                text="hi",
                run_id=name,
                idempotency_key=name,
                commands=Commands.WORDS,
            )
        )
    assert len(await scene.store.active_runs(keys[0])) == runs
