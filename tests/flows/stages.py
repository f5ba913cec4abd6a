"""A bench on which each session is played by a model of its own, and all may send to each other."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.envelopes import Conversation
from roost.core.events import EventKind
from roost.core.exchanges import Exchange, Phase
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.queries import HistoryQuery
from roost.core.reach import SessionReach
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.scopes import DmScope
from roost.core.sending import SendRules
from roost.core.sessions import Session
from roost.core.visibility import AgentToAgent, Level
from roost.engine.rules import CommandRules, Part
from roost.ports import Tool, Topic, TopicKind
from roost.scanners.stdlib import StdlibScanner
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import CallTool, Say, Script
from roost.tools.access import Access
from roost.tools.sessions_send import SessionsSend
from tests.flows.gateways import Bench

MAIN = SessionKey.named("main", "main")
OPS = SessionKey.named("ops", "main")
GROUP = SessionKey.parse("agent:main:loopback:group:kitchen")
KITCHEN = Conversation(chat_type=ChatType.GROUP, peer="kitchen", subject="Kitchen")
IN_KITCHEN = Address(channel="loopback", to="kitchen")
EVERYONE = AgentToAgent(enabled=True, allow=None)
REPLY_STEP = "Agent-to-agent reply step."
ANNOUNCE_STEP = "Agent-to-agent announce step."

Plays = Callable[[ModelRequest], Script]


class Stage:
    """A bench on which each session is played by a function of its own."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.plays: dict[SessionKey, ScriptedModel] = {}
        self.max_turns = 5
        self.more: tuple[Tool, ...] = ()
        self.agents = frozenset({"main", "ops"})
        self.remotes: frozenset[str] = frozenset()

    def play(
        self, key: SessionKey, *answers: Script | Plays, otherwise: Script | Plays | None = None
    ) -> ScriptedModel:
        self.plays[key] = ScriptedModel(*answers, otherwise=otherwise, clock=self.bench.clock)
        return self.plays[key]

    def cast(self, session: Session, run: Run) -> Part:
        reach = SessionReach(agent=run.key.agent, level=Level.ALL, a2a=EVERYONE)
        access = Access(self.bench.store, self.bench.clock, reach)
        rules = SendRules(agents=self.agents, max_turns=self.max_turns, remotes=self.remotes)
        tools = (SessionsSend(access, StdlibScanner(), rules), *self.more)
        return replace(self.bench.cast(session, run), model=self.plays[run.key], tools=tools)

    async def exchange(self) -> Exchange:
        """The one exchange that the newest events of a session speak of."""
        for key in self.plays:
            for event in await self.bench.store.events(key, after=0, limit=1_000):
                if event.kind is EventKind.EXCHANGE:
                    found = await self.bench.store.exchange(event.ref)
                    assert found is not None
                    return found
        raise AssertionError("there is none")

    async def over(self) -> Exchange:
        """The exchange when all of it is over."""
        known = await self.exchange()

        async def done() -> Exchange | None:
            found = await self.bench.store.exchange(known.id)
            return found if found and found.phase is Phase.DONE else None

        return await self.bench.store.wait_for(Topic(TopicKind.SESSION, str(known.target)), done)

    async def said(self, key: SessionKey) -> list[str]:
        page = await self.bench.store.history(HistoryQuery(key=key, limit=1_000))
        return [
            text_of(entry.body)
            for entry in page.entries
            if isinstance(entry.body, UserMessage | AssistantMessage)
        ]


def staged(bench: Bench) -> Stage:
    """A stage whose door lets everybody in, groups included."""
    stage = Stage(bench)
    door = ChannelPolicy(
        dm_policy=DmPolicy.OPEN,
        group_policy=GroupPolicy.OPEN,
        require_mention=False,
        owner_ids=("loopback:ada",),
    )
    bench.change(
        cast=stage.cast,
        routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN),
        doors={"loopback": door},
        commands=CommandRules(agents=("main", "ops")),
    )
    return stage


def send(call_id: str = "c1", **arguments: Any) -> Script:
    return (CallTool(ToolCall(id=call_id, name="sessions_send", arguments=arguments)),)


def result(model: ScriptedModel, number: int = -1) -> dict[str, Any]:
    """What the tool told a model before one of its calls."""
    last = model.requests[number].messages
    found: dict[str, Any] = json.loads(text_of([one for one in last if isinstance(one, ToolResult)][-1]))
    return found


def step(request: ModelRequest) -> str:
    """What the gateway asks of this run."""
    own = [one for one in request.messages if isinstance(one, UserMessage)][-1]
    return text_of(own).splitlines()[0]


def replies(first: str, turn: str = "REPLY_SKIP", last: str = "ANNOUNCE_SKIP") -> Plays:
    def answer(request: ModelRequest) -> Script:
        return (Say({REPLY_STEP: turn, ANNOUNCE_STEP: last}.get(step(request), first)),)

    return answer
