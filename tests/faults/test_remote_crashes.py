"""A message to another gateway whose sender's gateway ends at every single call it makes: it is answered there once, and
its answer is heard here once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from roost.core.exchanges import Exchange, ExchangeState, Phase
from roost.core.jsonvalue import JsonObject
from roost.core.messages import AssistantMessage, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.reach import SessionReach
from roost.core.remotes import Taken
from roost.core.sending import SendRules
from roost.core.visibility import AgentToAgent, Level
from roost.engine.rules import Housekeeping, Part, Rules
from roost.ports import Store, Tool, Topic, TopicKind
from roost.scanners.stdlib import StdlibScanner
from roost.testing.crashing import Crashes
from roost.testing.scripts import CallTool, Say, Script
from roost.tools.access import Access
from roost.tools.sessions_send import SessionsSend
from tests.faults.lives import CHAT, MAIN, Lives, Saying, points
from tests.grounds import Ground

ONE_IN = {"memory": 13, "sqlite": 31, "postgres": 91}
ALL = AgentToAgent(enabled=True, allow=None)


@dataclass
class Office:
    """Another gateway, which outlives this one: a message is the same by its id."""

    answered: dict[str, int] = field(default_factory=dict)

    async def carry(
        self, exchange: Exchange, limit_ms: int, taken: Callable[[Taken], Awaitable[None]]
    ) -> str | None:
        if exchange.id not in self.answered:
            self.answered[exchange.id] = 1
        for begun in (False, True):
            await taken(Taken(key="agent:main:main", begun=begun))
        return "pasta"


class Way:
    """The way to the office, on which a process may end too."""

    def __init__(self, office: Office, crashes: Crashes) -> None:
        self.carry = crashes.around("remote.carry", office.carry)


@dataclass(kw_only=True)
class Scene(Lives):
    wait: int
    sayings: tuple[Saying, ...] = (Saying(text="ask the office"),)
    office: Office = field(default_factory=Office)
    way: Way = field(init=False)

    def answer(self, request: ModelRequest) -> Script:
        last = request.messages[-1]
        if isinstance(last, ToolResult):
            return (Say("They eat pasta." if self.wait else "Asked."),)
        if text_of(last).startswith("Agent-to-agent late reply."):
            return (Say("Aha."),)
        arguments: JsonObject = {
            "sessionKey": "office/main",
            "message": "dinner?",
            "timeoutSeconds": self.wait,
        }
        return (CallTool(ToolCall(id="c1", name="sessions_send", arguments=arguments)),)

    def tools(self, store: Store, crashes: Crashes) -> tuple[Tool, ...]:
        self.way = Way(self.office, crashes)
        access = Access(store, self.clock, SessionReach(agent="main", level=Level.ALL, a2a=ALL))
        rules = SendRules(agents=frozenset({"main"}), remotes=frozenset({"office"}))
        return (SessionsSend(access, StdlibScanner(), rules),)

    def rules(self, part: Part) -> Rules:
        return replace(super().rules(part), house=Housekeeping(remotes={"office": self.way}))

    async def settled(self) -> None:
        await super().settled()

        async def carried() -> bool | None:
            return None if await self.store.remote_exchanges(1) else True

        await self.store.wait_for(Topic(TopicKind.REMOTES), carried)
        await super().settled()


async def assert_whole(scene: Scene) -> None:
    (exchange,) = await scene.store.exchanges_of(MAIN, 5)
    assert (exchange.phase, exchange.state) == (Phase.DONE, ExchangeState.REPLIED)
    assert list(scene.office.answered) == [exchange.id]
    said = [
        text_of(entry.body)
        for entry in await scene.entries()
        if isinstance(entry.body, UserMessage | AssistantMessage)
    ]
    first = ["ask the office", ""]
    assert said == [*first, *(["They eat pasta."] if scene.wait else ["Asked.", "pasta", "Aha."])]
    assert scene.channel.replies(CHAT) == (said[2],)
    assert await scene.store.check() == ()


@pytest.mark.requirement("F6", "P10")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("wait", [30, 0])
async def test_a_message_to_another_gateway_is_the_same_wherever_its_senders_gateway_dies(
    ground: Ground, wait: int
) -> None:
    async with Scene(ground=await ground.fresh("dry"), wait=wait) as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for point in points(ground.kind, calls, ONE_IN, sharp=("remote.carry",)):
        async with Scene(ground=await ground.fresh(f"{point.at}-{point.moment}"), wait=wait) as scene:
            await scene.strike(point)
            await scene.live()
            await assert_whole(scene)
