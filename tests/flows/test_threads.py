"""Chat threads that belong to a spawned session, from the spawn on a channel to the end of the binding."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, GroupPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.figures import HOUR_MS
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.spawnwishes import ThreadRules
from roost.core.terms import SpawnContext
from roost.core.threads import ThreadBinding, ThreadPolicy, ThreadSettings
from roost.ports import Store, Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import Say, Script, Until
from tests.flows.gateways import ADA, BOB, Bench, chat, place
from tests.flows.nursery import Nursery, announcing, newest, results, said_to, spawns, task_of

GATEWAY = Gateway(name="flow", holder="flow")
CAROL, DAVE, FAY = (Sender(id=name, name=name.title()) for name in ("carol", "dave", "fay"))
IN_GROUPS = ChannelPolicy(group_policy=GroupPolicy.OPEN, require_mention=False, owner_ids=("loopback:ada",))
GROUP_THREAD = Conversation(chat_type=ChatType.GROUP, peer="kitchen", subject="Kitchen", thread="t1")
IN_THREAD_OF_GROUP = SessionKey.parse("agent:main:loopback:group:kitchen:thread:t1")
IN_GROUP_THREAD = Address(channel="loopback", to="kitchen", thread="t1")
THREAD = replace(place(ADA), thread="t1")
IN_THREAD = replace(chat(ADA), thread="t1")


def acting(request: ModelRequest) -> Script:
    """Main spawns a child into the thread it is asked in; the child says what it was told."""
    said = said_to(request)
    if "Your task is done" in said:
        return [Say("Result: settled in")]
    if task_of(request):
        return [Say("done")] if "[Subagent Task]" in said else [Say(f"child heard {said.splitlines()[-1]}")]
    if isinstance(newest(request), ToolResult):
        return [Say(f"main has {text_of(newest(request))}")]
    return (
        spawns("live here", thread=True) if "spawn" in said else [Say(f"main heard {said.splitlines()[-1]}")]
    )


@pytest.fixture(params=["memory", "sqlite"])
async def nursery(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Nursery]:
    store: Store = (
        MemoryStore(clock) if request.param == "memory" else SqliteStore.open(tmp_path / "threads.db", clock)
    )
    yield Nursery(Bench(store, clock), acting)
    await store.close()


def bind(nursery: Nursery, policy: ThreadPolicy) -> None:
    nursery.threads = ThreadRules(policy=policy, known=lambda address: True)
    nursery.bench.change(routing=RoutingRules(threads=policy))


def idle(hours: int, *, oldest: int = 0, context: SpawnContext = SpawnContext.ISOLATED) -> ThreadPolicy:
    settings = ThreadSettings(idle_ms=hours * HOUR_MS, max_age_ms=oldest * HOUR_MS, context=context)
    return ThreadPolicy(base=settings)


async def ask(nursery: Nursery, text: str, *, sender: Sender = ADA, answers: int = 1) -> str:
    """What is answered in the thread. A gateway that hours pass under would lose its lease, so each word has its own."""
    channel = nursery.bench.channel
    known = len(channel.replies(THREAD))
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        await channel.say(text, sender=sender, chat=IN_THREAD)
        told = await channel.wait_replies(THREAD, known + answers)
        await engine.settled()
    return told[-1]


async def binding(nursery: Nursery, address: Address = THREAD) -> ThreadBinding | None:
    return await nursery.bench.store.thread_binding(address)


async def spawned(nursery: Nursery) -> None:
    """A child has settled in the thread."""
    assert "Result: settled in" in await ask(nursery, "spawn one", answers=2)


async def test_what_is_written_in_a_bound_thread_goes_to_the_child_and_keeps_it_bound(
    nursery: Nursery, clock: FakeClock
) -> None:
    bind(nursery, idle(2))
    await spawned(nursery)
    (child,) = await nursery.descendants()
    for word in ("one", "two", "three"):
        clock.advance(HOUR_MS + 1)
        assert await ask(nursery, word) == f"child heard {word}"
    bound = await binding(nursery)
    assert bound is not None
    assert (bound.key, bound.used_at) == (child.key, clock.now())
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("elsewhere")
        assert await nursery.bench.replies() == ("main heard elsewhere",)


@pytest.mark.parametrize("policy", [idle(2), idle(0, oldest=2)])
async def test_a_thread_that_was_idle_or_is_old_goes_back_to_where_it_belongs(
    nursery: Nursery, clock: FakeClock, policy: ThreadPolicy
) -> None:
    bind(nursery, policy)
    await spawned(nursery)
    clock.advance(2 * HOUR_MS)
    assert await ask(nursery, "anybody?") == "main heard anybody?"
    assert (await ask(nursery, "/session")).startswith("This chat is not bound to a session.")


async def test_a_binding_is_shown_prolonged_and_ended_from_the_thread(
    nursery: Nursery, clock: FakeClock
) -> None:
    bind(nursery, idle(2))
    await spawned(nursery)
    (child,) = await nursery.descendants()
    assert f"This thread is bound to {child.key}" in await ask(nursery, "/agents")
    assert "Ends when idle: 5h00m00s" in await ask(nursery, "/session idle 5h")
    clock.advance(4 * HOUR_MS)
    assert await ask(nursery, "still there?") == "child heard still there?"
    assert "when old: 6h00m00s" in await ask(nursery, "/session max-age 6h")
    assert await ask(nursery, "/session unbind") == "This thread is no longer bound."
    assert await ask(nursery, "and now?") == "main heard and now?"


async def test_what_a_channel_says_of_threads_is_gone_by(nursery: Nursery) -> None:
    here = ThreadSettings(idle_ms=HOUR_MS, context=SpawnContext.ISOLATED)
    bind(nursery, ThreadPolicy(base=ThreadSettings(idle_ms=9 * HOUR_MS), by_channel={"loopback": here}))
    await spawned(nursery)
    bound = await binding(nursery)
    assert bound is not None
    assert bound.idle_ms == HOUR_MS
    bind(nursery, ThreadPolicy(by_channel={"loopback": replace(here, enabled=False)}))
    assert await ask(nursery, "anybody?") == "main heard anybody?"
    assert "session.threadBindings does not let a spawn bind" in await ask(nursery, "spawn another")


@pytest.mark.requirement("D65")
@pytest.mark.parametrize("context", SpawnContext)
async def test_a_child_in_a_thread_begins_as_the_setting_says(
    nursery: Nursery, context: SpawnContext
) -> None:
    bind(nursery, idle(2, context=context))
    await spawned(nursery)
    first = next(one for one in nursery.bench.model.requests if task_of(one))
    forked = any("spawn one" in text_of(one) for one in first.messages)
    assert forked is (context is SpawnContext.FORK)


@pytest.mark.requirement("P1")
async def test_what_a_child_of_a_bound_child_found_is_answered_in_the_thread(nursery: Nursery) -> None:
    answered = anyio.Event()

    def act(request: ModelRequest) -> Script:
        said = said_to(request)
        if task_of(request) == "dig":
            return [Until(answered), Say("gold")]
        if "A sub-agent has ended" in said:
            return [Say(f"found {said.splitlines()[-2]}")]
        if task_of(request) and said.endswith("dig"):
            return [Say("digging")] if isinstance(newest(request), ToolResult) else spawns("dig")
        return acting(request)

    bind(nursery, idle(2))
    await spawned(nursery)
    nursery.act = act
    channel = nursery.bench.channel
    async with nursery.engine().serving(GATEWAY):
        await channel.say("please dig", sender=ADA, chat=IN_THREAD)
        assert (await channel.wait_replies(THREAD, 3))[-1] == "digging"
        answered.set()
        assert (await channel.wait_replies(THREAD, 4))[-1] == "found Result: gold"


def settling(request: ModelRequest) -> Script:
    """Whoever is asked to, main or child, spawns as many children into its thread as there are words for it."""
    said = said_to(request)
    if announcing(request):
        return [Say("ANNOUNCE_SKIP")]
    if isinstance(newest(request), ToolResult):
        newly = results(request)[-said.count("settle") :]
        return [Say(" and ".join(str(one.get("error", one["status"])) for one in newly))]
    if "[Subagent Task]" in said:
        return [Say("done")]
    return spawns(*(["live here"] * said.count("settle")), thread=True)


async def bound_by_words(nursery: Nursery, *said: tuple[Sender, str]) -> tuple[list[str], list[SessionKey]]:
    """What is answered in a thread of a group, and whose the thread was after each answer."""
    bench, bound = nursery.bench, []
    nursery.act = settling
    bind(nursery, idle(2))
    bench.change(doors={"loopback": IN_GROUPS})
    known = len(bench.channel.replies(IN_GROUP_THREAD))
    engine = nursery.engine()
    async with engine.serving(GATEWAY):
        for place, (sender, text) in enumerate(said, start=1):
            await bench.channel.say(text, sender=sender, chat=GROUP_THREAD)
            answers = await bench.channel.wait_replies(IN_GROUP_THREAD, known + place)
            await engine.settled()
            found = await binding(nursery, IN_GROUP_THREAD)
            bound += [found.key] if found else []
    return list(answers[known:]), bound


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("binder", "other", "may"),
    [(ADA, BOB, False), (BOB, CAROL, False), (BOB, BOB, True), (BOB, ADA, True)],
    ids=["the owner's", "another's", "one's own", "by the owner"],
)
async def test_a_bound_thread_is_bound_elsewhere_only_by_who_bound_it_or_the_owner(
    nursery: Nursery, binder: Sender, other: Sender, may: bool
) -> None:
    answers, (first, second) = await bound_by_words(nursery, (binder, "settle"), (other, "settle"))
    assert answers[0] == "accepted"
    assert (second != first) is may
    if not may:
        assert (
            f"this thread is bound to {first}: only who bound it, or the owner, may change that" in answers[1]
        )
        assert "leave `thread` out" in answers[1]
    assert len(await nursery.descendants()) == 1 + may


@pytest.mark.requirement("P2")
async def test_what_several_bound_together_is_not_bound_elsewhere_by_several_others(nursery: Nursery) -> None:
    bench, channel = nursery.bench, nursery.bench.channel
    began, free = [anyio.Event(), anyio.Event()], [anyio.Event(), anyio.Event()]

    def act(request: ModelRequest) -> Script:
        said = said_to(request)
        turn = 0 if "hold" in said else 1
        if turn == 0 or ("early" in said and isinstance(newest(request), UserMessage)):
            began[turn].set()
            return [Until(free[turn]), *([Say("held")] if turn == 0 else spawns("live here", thread=True))]
        return settling(request)

    async def waiting() -> bool | None:
        return len(await bench.store.pending_inputs(IN_THREAD_OF_GROUP)) == 2 or None

    nursery.act = act
    bind(nursery, idle(2))
    bench.change(
        doors={"loopback": IN_GROUPS},
        queue=QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0)),
    )
    async with nursery.engine().serving(GATEWAY):
        await channel.say("hold", sender=ADA, chat=GROUP_THREAD)
        for turn, (pair, word) in enumerate((((BOB, CAROL), "early"), ((DAVE, FAY), "settle"))):
            await began[turn].wait()
            for sender in pair:
                await channel.say(word, sender=sender, chat=GROUP_THREAD)
            await bench.store.wait_for(Topic(TopicKind.SESSION, str(IN_THREAD_OF_GROUP)), waiting)
            free[turn].set()
        answers = await channel.wait_replies(IN_GROUP_THREAD, 3)
    bound = await binding(nursery, IN_GROUP_THREAD)
    assert bound is not None
    assert f"this thread is bound to {bound.key}: only who bound it" in answers[2]


async def test_of_two_children_for_one_thread_in_one_turn_the_first_keeps_it(nursery: Nursery) -> None:
    (answer,), (bound,) = await bound_by_words(nursery, (ADA, "settle and settle"))
    assert answer.startswith(f"accepted and you have bound this thread to {bound} just now")
    (child,) = await nursery.descendants()
    assert child.key == bound


async def test_a_thread_whose_binding_is_over_is_anybodys(nursery: Nursery, clock: FakeClock) -> None:
    await bound_by_words(nursery, (ADA, "settle"))
    clock.advance(2 * HOUR_MS)
    answers, (bound,) = await bound_by_words(nursery, (BOB, "settle"))
    assert answers == ["accepted"]
    assert bound == (await nursery.descendants())[-1].key
