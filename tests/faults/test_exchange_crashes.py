"""A conversation between two agents whose gateway ends at every single call it makes: the same words, one announce."""

from dataclasses import dataclass, replace

import pytest

from roost.core.addresses import Address, ChatType
from roost.core.admission import GroupPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.exchanges import ExchangeState, Phase
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.queries import HistoryQuery
from roost.core.reach import SessionReach
from roost.core.sending import SendRules
from roost.core.visibility import Level
from roost.engine.rules import Part, Rules
from roost.ports import Store, Tool
from roost.scanners.stdlib import StdlibScanner
from roost.testing.crashing import Crashes
from roost.testing.scripts import CallTool, Say, Script
from roost.tools.access import Access
from roost.tools.sessions_send import SessionsSend
from tests.faults.lives import CHAT, DOOR, MAIN, Lives, Saying, points
from tests.grounds import Ground

GROUP = SessionKey.parse("agent:main:loopback:group:kitchen")
KITCHEN = Conversation(chat_type=ChatType.GROUP, peer="kitchen")
IN_KITCHEN = Address(channel="loopback", to="kitchen")
BOB = Sender(id="bob", name="Bob")
SEND = ToolCall(id="c1", name="sessions_send", arguments={"sessionKey": str(GROUP), "message": "dinner?"})
TURNS = 5
ONE_IN = {"memory": 17, "sqlite": 41, "postgres": 131}
KITCHEN_WORDS = ["hi", "hello", "dinner?", "pasta", "turn 1", "turn 2", "turn 3", "turn 4", "Pasta it is."]
MAIN_WORDS = [
    "ask the kitchen",
    "",
    "They eat pasta.",
    "pasta",
    "turn 1",
    "turn 2",
    "turn 3",
    "turn 4",
    "turn 5",
]


@dataclass(kw_only=True)
class Scene(Lives):
    sayings: tuple[Saying, ...] = (
        Saying(text="hi", sender=BOB, chat=KITCHEN),
        Saying(text="ask the kitchen"),
    )

    def answer(self, request: ModelRequest) -> Script:
        if isinstance(request.messages[-1], ToolResult):
            return (Say("They eat pasta."),)
        asked = text_of([one for one in request.messages if isinstance(one, UserMessage)][-1])
        if asked.startswith("Agent-to-agent announce step."):
            return (Say("Pasta it is."),)
        if asked.startswith("Agent-to-agent reply step."):
            return (Say(f"turn {asked.partition(' Turn ')[2].partition(' ')[0]}"),)
        if asked.startswith("Agent-to-agent message."):
            return (Say("pasta"),)
        return (CallTool(SEND),) if "ask the kitchen" in asked else (Say("hello"),)

    def tools(self, store: Store, crashes: Crashes) -> tuple[Tool, ...]:
        access = Access(store, self.clock, SessionReach(agent="main", level=Level.AGENT))
        rules = SendRules(agents=frozenset({"main"}), max_turns=TURNS)
        return (SessionsSend(access, StdlibScanner(), rules),)

    def rules(self, part: Part) -> Rules:
        door = replace(DOOR, group_policy=GroupPolicy.OPEN, require_mention=False)
        return replace(super().rules(part), doors={"loopback": door})

    async def words(self, key: SessionKey) -> list[str]:
        page = await self.store.history(HistoryQuery(key=key, limit=100, tools=False))
        said = (
            entry.body for entry in page.entries if isinstance(entry.body, UserMessage | AssistantMessage)
        )
        return [text_of(body) for body in said]


async def assert_whole(scene: Scene) -> None:
    assert await scene.words(GROUP) == KITCHEN_WORDS
    assert await scene.words(MAIN) == MAIN_WORDS
    assert scene.channel.replies(IN_KITCHEN) == ("hello", "Pasta it is.")
    assert scene.channel.replies(CHAT) == ("They eat pasta.",)
    (result,) = (entry.body for entry in await scene.entries() if isinstance(entry.body, ToolResult))
    assert '"status":"ok"' in text_of(result).replace(" ", "")
    events = await scene.store.events(GROUP, after=0, limit=1_000)
    (exchange_id,) = {event.ref for event in events if event.kind == "exchange"}
    exchange = await scene.store.exchange(exchange_id)
    assert exchange is not None
    assert (exchange.phase, exchange.state, exchange.turn) == (Phase.DONE, ExchangeState.REPLIED, TURNS)
    assert await scene.store.check() == ()


@pytest.mark.requirement("D17", "D18", "P6", "P10")
@pytest.mark.timeout(900)
async def test_an_exchange_of_five_turns_is_the_same_wherever_its_gateway_dies(
    ground: Ground,
) -> None:
    async with Scene(ground=await ground.fresh("dry")) as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for point in points(ground.kind, calls, ONE_IN):
        async with Scene(ground=await ground.fresh(f"{point.at}-{point.moment}")) as scene:
            await scene.strike(point)
            await scene.live()
            await assert_whole(scene)
