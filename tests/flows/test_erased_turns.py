"""One person is erased: nothing is left of what her turns in a group brought about, nor of what the gateway said of them."""

from pathlib import Path

import anyio
import pytest

from roost.app.erasing import erase, who
from roost.clock import SystemClock
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.effects import AppendEntries
from roost.core.entries import EntryDraft
from roost.core.envelopes import Sender
from roost.core.keys import CHILD_KINDS
from roost.core.leases import Gateway
from roost.core.messages import Compaction, ToolResult
from roost.core.models import ModelRequest
from roost.core.queries import SessionQuery
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.ports import Store, Topic, TopicKind
from roost.stores.sqlite import SqliteStore
from roost.testing.scripts import Say, Script, Until
from tests.contract.scenes import change
from tests.flows.gateways import ADA, BOB, Bench
from tests.flows.nursery import Nursery, announcing, newest, said_to, spawns, task_of
from tests.flows.stages import GROUP, IN_KITCHEN, KITCHEN, staged
from tests.flows.test_erasing import CANARIES, EVE, holding, home

pytestmark = pytest.mark.timeout(60)

DOOR = ChannelPolicy(
    dm_policy=DmPolicy.OPEN, group_policy=GroupPolicy.OPEN, require_mention=False, owner_ids=("loopback:ada",)
)
OTHERS = ("adasword", "bobsword")


async def until_waiting(store: Store, count: int) -> None:
    """Until so many messages wait in the group."""

    async def waiting() -> bool | None:
        return len(await store.pending_inputs(GROUP)) == count or None

    await store.wait_for(Topic(TopicKind.SESSION, str(GROUP)), waiting)


async def erased(folder: Path) -> None:
    """Without her."""
    assert holding(folder, CANARIES)
    loaded = home(folder)
    await erase(loaded, who(loaded, "loopback:evesid77"))
    assert holding(folder, CANARIES) == set()
    assert holding(folder, OTHERS)


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("senders", [(EVE,), (BOB, EVE)], ids=["alone", "with others"])
async def test_what_a_child_found_that_she_had_spawned_is_left_nowhere(
    tmp_path: Path, senders: tuple[Sender, ...]
) -> None:
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    began, free, answered = anyio.Event(), anyio.Event(), anyio.Event()

    def act(request: ModelRequest) -> Script:
        if announcing(request):
            return [Say("Result: quokka is told")]
        if task_of(request):
            return [Until(answered), Say("quokka is found")]
        if isinstance(newest(request), ToolResult):
            return [Say("begun")]
        if "adasword" in said_to(request):
            began.set()
            return [Until(free), Say("done")]
        return spawns("look for the zebrafish", label="kumquat", taskName="kumquat")

    nursery = Nursery(Bench(store, SystemClock()), act)
    bench = nursery.bench
    bench.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN), doors={"loopback": DOOR})
    try:
        async with nursery.engine().serving(Gateway(name="flow", holder="flow")):
            await bench.channel.say("adasword", sender=ADA, chat=KITCHEN)
            await began.wait()
            for one in senders:
                words = "narwhal" if one is EVE else "bobsword"
                await bench.channel.say(words, sender=one, chat=KITCHEN)
            await until_waiting(store, len(senders))
            free.set()
            await bench.channel.wait_replies(IN_KITCHEN, 2)
            answered.set()
            assert "quokka is told" in (await bench.channel.wait_replies(IN_KITCHEN, 3))[2]
    finally:
        await store.close()
    await erased(tmp_path)
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    rows = (await store.list_sessions(SessionQuery())).rows
    (child,) = (row for row in rows if row.key.kind in CHILD_KINDS)
    assert (child.labels.label, child.lineage.terms and child.lineage.terms.task_name) == (None, None)
    assert await store.check() == ()
    await store.close()


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(
    ("drop", "senders"),
    [(DropPolicy.NEW, (BOB, EVE)), (DropPolicy.OLD, (EVE, BOB)), (DropPolicy.SUMMARIZE, (EVE, BOB))],
    ids=["refused", "dropped", "merged into another's, and stopped"],
)
async def test_what_the_gateway_said_of_a_message_of_hers_is_left_nowhere(
    tmp_path: Path, drop: DropPolicy, senders: tuple[Sender, ...]
) -> None:
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    bench, began, free = Bench(store, SystemClock()), anyio.Event(), anyio.Event()

    def busy(request: ModelRequest) -> Script:
        began.set()
        return (Until(free), Say("done"))

    staged(bench).play(GROUP, busy)
    bench.change(
        queue=QueuePolicy(base=QueueSettings(mode=QueueMode.COLLECT, debounce_ms=0, cap=1, drop=drop))
    )
    try:
        async with bench.serving():
            await bench.channel.say("adasword", sender=ADA, chat=KITCHEN)
            await began.wait()
            for one in senders:
                words = "narwhal" if one is EVE else "bobsword"
                await bench.channel.say(words, sender=one, chat=KITCHEN)
            await bench.channel.say("/stop", sender=ADA, chat=KITCHEN)
            assert any("narwhal" in one for one in await bench.channel.wait_replies(IN_KITCHEN, 1))
    finally:
        await store.close()
    await erased(tmp_path)


@pytest.mark.requirement("F11")
async def test_what_a_command_of_hers_was_answered_is_left_nowhere(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    bench = Bench(store, SystemClock())
    staged(bench).play(GROUP)
    try:
        async with bench.serving():
            for sender, words in ((ADA, "adasword"), (EVE, "narwhal")):
                await bench.channel.say(f"/think {words}", sender=sender, chat=KITCHEN)
            _, told = await bench.channel.wait_replies(IN_KITCHEN, 2)
            assert "narwhal" in told
    finally:
        await store.close()
    await erased(tmp_path)


@pytest.mark.requirement("F11")
async def test_a_summary_of_what_she_said_is_left_in_no_conversation_that_goes_on_from_there(
    tmp_path: Path,
) -> None:
    store = SqliteStore.open(tmp_path / "roost.db", SystemClock())
    bench = Bench(store, SystemClock())
    staged(bench).play(GROUP, otherwise=(Say("bobsword"),))
    try:
        async with bench.serving():
            for number, (sender, words) in enumerate(
                ((EVE, "narwhal"), (ADA, "/new"), (ADA, "/back"), (BOB, "and now?")), start=1
            ):
                await bench.channel.say(words, sender=sender, chat=KITCHEN)
                await bench.channel.wait_replies(IN_KITCHEN, number)
            summary = Compaction(
                summary="a narwhal", first_kept_id=None, tokens_before=9, tokens_after=3, at=1
            )
            await change(
                store, AppendEntries(key=GROUP, drafts=(EntryDraft(id="summary", body=summary),)), key=GROUP
            )
    finally:
        await store.close()
    await erased(tmp_path)
