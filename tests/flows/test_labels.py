"""What children are called: one label is one session's, and goes from one that has done its task to the next."""

import anyio
import pytest

from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.testing.scripts import Say, Script, Until
from tests.flows.gateways import ADA, BOB
from tests.flows.nursery import Nursery, announcing, newest, said_to, spawns, task_of
from tests.flows.stages import IN_KITCHEN, KITCHEN

GATEWAY = Gateway(name="flow", holder="flow")


def researching(request: ModelRequest) -> Script:
    """Spawns as many children of one name as it is told to."""
    said = said_to(request)
    if announcing(request):
        return [Say("Result: known")]
    if task_of(request):
        return [Say("done")]
    if isinstance(newest(request), ToolResult):
        return [Say(outcome(request))]
    return spawns(*(["look"] * said.count("research")), label="research")


def outcome(request: ModelRequest) -> str:
    """How the newest spawn went."""
    told = text_of(newest(request))
    return "accepted" if '"accepted"' in told else told


async def labels(nursery: Nursery) -> list[str | None]:
    return [child.labels.label for child in await nursery.descendants()]


@pytest.mark.requirement("D23")
async def test_of_two_children_of_one_name_the_second_is_refused_with_what_to_do(nursery: Nursery) -> None:
    nursery.act = researching
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("research and research")
        told = (await nursery.bench.replies())[0]
    assert "label already in use: research" in told
    assert "such as 'research 2', or leave `label` out" in told
    assert await labels(nursery) == ["research"]


@pytest.mark.requirement("D23")
async def test_a_child_gets_the_name_of_one_whose_task_is_over(nursery: Nursery) -> None:
    nursery.act = researching
    async with nursery.engine().serving(GATEWAY):
        for turn in (1, 2):
            await nursery.bench.say("research")
            told = await nursery.bench.replies(at_least=2 * turn)
            assert "accepted" in told[-2:]
        assert await labels(nursery) == [None, "research"]


async def test_a_child_at_work_and_a_session_of_ones_own_keep_their_names(nursery: Nursery) -> None:
    over = anyio.Event()

    def act(request: ModelRequest) -> Script:
        busy = task_of(request) and not announcing(request)
        return [Until(over), Say("done")] if busy else researching(request)

    nursery.act = act
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("research")
        assert await nursery.bench.replies() == ("accepted",)
        await nursery.bench.say("research")
        assert "already in use" in (await nursery.bench.replies(at_least=2))[-1]
        over.set()
        await nursery.bench.replies(at_least=3)
        await nursery.bench.say("/name Research on bees")
        await nursery.bench.replies(at_least=4)
    nursery.act = lambda request: (
        [Say(outcome(request))]
        if isinstance(newest(request), ToolResult)
        else spawns("look", label="Research  on bees")
    )
    async with nursery.engine().serving(GATEWAY):
        await nursery.bench.say("more")
        assert "already in use: Research on bees" in (await nursery.bench.replies(at_least=5))[-1]


async def test_what_another_person_calls_theirs_keeps_nobody_from_the_same_name(nursery: Nursery) -> None:
    over = anyio.Event()
    nursery.act = lambda request: (
        [Until(over), Say("done")] if task_of(request) and not announcing(request) else researching(request)
    )
    nursery.bench.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN))
    async with nursery.engine().serving(GATEWAY):
        for sender in (BOB, ADA):
            await nursery.bench.say("research", sender)
            assert await nursery.bench.replies(sender) == ("accepted",)
        over.set()
    assert await labels(nursery) == ["research", "research"]


@pytest.mark.requirement("P8")
async def test_what_others_say_in_a_group_takes_no_name_from_a_child_that_the_owner_has_elsewhere(
    nursery: Nursery,
) -> None:
    bench = nursery.bench
    door = ChannelPolicy(
        dm_policy=DmPolicy.OPEN,
        group_policy=GroupPolicy.OPEN,
        require_mention=False,
        owner_ids=("loopback:ada",),
    )
    bench.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN), doors={"loopback": door})
    nursery.act = researching
    async with nursery.engine().serving(GATEWAY):
        await bench.say("research")
        await bench.replies(at_least=2)
        await bench.channel.say("research", sender=BOB, chat=KITCHEN)
        (told,) = await bench.channel.wait_replies(IN_KITCHEN, 1)
        assert "label already in use: research" in told
        assert await labels(nursery) == ["research"]
        await bench.channel.say("research", sender=ADA, chat=KITCHEN)
        await bench.channel.wait_replies(IN_KITCHEN, 3)
        await bench.channel.say("research", sender=BOB, chat=KITCHEN)
        await bench.channel.wait_replies(IN_KITCHEN, 5)
    assert await labels(nursery) == [None, None, "research"]
