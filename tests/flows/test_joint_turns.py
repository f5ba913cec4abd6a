"""Turns that answer several people of a group at once: they act for none of them, and neither does what follows from them."""

import anyio
import pytest

from roost.core.addresses import ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ToolResult, text_of
from roost.core.models import ModelRequest
from roost.core.reach import SessionReach
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.sending import SendRules
from roost.core.visibility import ABSENT_TEXT, Level
from roost.engine.scheduler import RUNS
from roost.ports import Topic, TopicKind
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripts import Say, Script, Until
from roost.tools.access import Access
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_send import SessionsSend
from tests.flows.gateways import BOB
from tests.flows.nursery import (
    Nursery,
    announcing,
    call,
    hears_of_ends,
    newest,
    said_to,
    spawns,
    task_of,
)

CAROL, DAVE = Sender(id="carol", name="Carol"), Sender(id="dave", name="Dave")
KITCHEN = Conversation(chat_type=ChatType.GROUP, peer="kitchen", subject="Kitchen")
GROUP = SessionKey.parse("agent:main:loopback:group:kitchen")
SECRET = "canary-5e1b"
BOBS = "agent:main:loopback:direct:bob"
LOOK = "look up what Bob said in private"
DOOR = ChannelPolicy(
    dm_policy=DmPolicy.OPEN, group_policy=GroupPolicy.OPEN, require_mention=False, owner_ids=("loopback:ada",)
)


class Prying:
    """A model that, asked for it, has what follows from its turn look into Bob's conversation."""

    def __init__(self, *way: object) -> None:
        self.way = way
        self.began, self.free = anyio.Event(), anyio.Event()
        self.found: list[str] = []

    def __call__(self, request: ModelRequest) -> Script:
        last, said = newest(request), said_to(request)
        if isinstance(last, ToolResult) and last.tool == "sessions_history":
            self.found.append(text_of(last))
            return [Say("looked")]
        if isinstance(last, ToolResult):
            return [Say("asked for it")]
        if announcing(request):
            return [Say("ANNOUNCE_SKIP")]
        if task_of(request) == "wait":
            return [Say("waited")]
        if task_of(request) or hears_of_ends(request) or "now read it" in said:
            return [call("sessions_history", sessionKey=BOBS)]
        if "hold" in said:
            self.began.set()
            return [Until(self.free), Say("held")]
        return list(self.way) if LOOK in said else [Say("noted")]  # type: ignore[arg-type]


@pytest.fixture
def kitchen(nursery: Nursery) -> Nursery:
    """A group whose members write to the agent in private too; only the agent's own rights keep it from looking there."""
    bench, scanner = nursery.bench, StdlibScanner()
    access = Access(bench.store, bench.clock, SessionReach(agent="main", level=Level.AGENT))
    sends = SessionsSend(access, scanner, SendRules(agents=frozenset({"main"})))
    nursery.more = (SessionsHistory(access, scanner), sends)
    bench.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN), doors={"loopback": DOOR})
    return nursery


async def asked_by(nursery: Nursery, *senders: Sender) -> list[str]:
    """What is found of Bob's conversation when the last of these asks for it in a turn that answers all of them."""
    bench, prying = nursery.bench, nursery.act
    assert isinstance(prying, Prying)

    async def waiting() -> bool | None:
        """Whether all that was said waits for one turn."""
        runs = [one.run_id for one in await bench.store.pending_inputs(GROUP)]
        return True if len(runs) == len(senders) and len({*runs}) == 1 else None

    async def looked() -> list[str] | None:
        return prying.found or None

    with anyio.fail_after(30):
        async with nursery.engine().serving(Gateway(name="flow", holder="flow")):
            await bench.say(f"remember {SECRET}", BOB)
            await bench.replies(BOB)
            await bench.channel.say("hold on", sender=DAVE, chat=KITCHEN)
            await prying.began.wait()
            for sender in senders[:-1]:
                await bench.channel.say("hello", sender=sender, chat=KITCHEN)
            await bench.channel.say(LOOK, sender=senders[-1], chat=KITCHEN)
            await bench.store.wait_for(Topic(TopicKind.SESSION, str(GROUP)), waiting)
            prying.free.set()
            return await bench.store.wait_for(RUNS, looked)


WAYS = pytest.mark.parametrize(
    "way",
    [
        pytest.param(spawns("look"), id="child"),
        pytest.param([*spawns("wait"), call("sessions_yield")], id="continuation"),
        pytest.param(
            [call("sessions_send", sessionKey="current", message="now read it", timeoutSeconds=0)],
            id="message",
        ),
    ],
)


@pytest.mark.requirement("P2", "P8", "S15")
@WAYS
async def test_what_follows_from_a_turn_of_several_people_has_the_rights_of_none_of_them(
    kitchen: Nursery, way: list[object]
) -> None:
    kitchen.act = Prying(*way)
    (found,) = await asked_by(kitchen, BOB, CAROL)
    assert ABSENT_TEXT in found


@WAYS
async def test_what_follows_from_a_turn_of_one_person_has_theirs(kitchen: Nursery, way: list[object]) -> None:
    kitchen.act = Prying(*way)
    (found,) = await asked_by(kitchen, BOB)
    assert SECRET in found
