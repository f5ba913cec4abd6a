"""Six chats on three accounts of two channels, and everything that may happen between a message and its answer."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random

import anyio
import anyio.lowlevel

from roost.channels.loopback import LoopbackChannel
from roost.core import queueing
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import ChangeSession, Effects
from roost.core.envelopes import Conversation, Sender
from roost.core.errors import Conflict, Forbidden
from roost.core.inbound import Inbound, Source
from roost.core.leases import Gateway, Lease
from roost.core.messages import AssistantMessage, Provenance, ProvenanceKind, Text, ToolResult, text_of
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.routing import RoutingRules
from roost.core.runs import Run, RunKind
from roost.core.scopes import DmScope
from roost.core.sessions import Session, SessionStatus
from roost.core.snapshots import Snapshot
from roost.core.tools import Place
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.testing.builders import Names
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Say, Script, Until
from tests.flows.agents import send, spawn
from tests.flows.driver import Driver
from tests.samples import UTC_ZONE
from tests.snapshots import snapshot

SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=1_000_000, max_tokens=4_096)
ADA, BOB = Sender(id="ada", name="Ada"), Sender(id="bob", name="Bob")
HOME, WORK, OTHER = ("loopback", "default"), ("loopback", "work"), ("other", "default")
MESSAGE, TASK = re.compile(r"m-\d{3}"), re.compile(r"[kx]-\d{3}")
BEAT = "beat"
WITHIN_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A place where somebody writes."""

    account: tuple[str, str]
    sender: Sender
    conversation: Conversation

    @property
    def address(self) -> Address:
        channel, account = self.account
        where = self.conversation
        thread = where.thread or where.topic
        return Address(channel=channel, account=account, to=where.peer or "", thread=thread)


def _direct(sender: Sender) -> Conversation:
    return Conversation(chat_type=ChatType.DIRECT, peer=sender.id)


# The owner's direct chats may share one session, and so may the people in one group.
CHATS = (
    Chat(account=HOME, sender=ADA, conversation=_direct(ADA)),
    Chat(account=WORK, sender=ADA, conversation=_direct(ADA)),
    Chat(account=OTHER, sender=BOB, conversation=_direct(BOB)),
    Chat(account=HOME, sender=BOB, conversation=Conversation(chat_type=ChatType.GROUP, peer="kitchen")),
    Chat(
        account=WORK,
        sender=ADA,
        conversation=Conversation(chat_type=ChatType.GROUP, peer="kitchen", topic="soup"),
    ),
    Chat(
        account=OTHER,
        sender=ADA,
        conversation=Conversation(chat_type=ChatType.CHANNEL, peer="town", thread="fair"),
    ),
)


@dataclass
class _Home:
    """What the hand that plays session tools needs of a gateway."""

    store: Store
    lease: Lease

    async def restart(self) -> None:
        raise NotImplementedError


class Crossing:
    """One gateway with its chats. `asked` is where each message, and each task, was given."""

    def __init__(self, seed: int) -> None:
        self.chance, self.clock = Random(seed), FakeClock()
        self.store = MemoryStore(self.clock, FakeClock())
        self.channels = {
            place: LoopbackChannel(name=place[0], account=place[1]) for place in (HOME, WORK, OTHER)
        }
        self.asked: dict[str, Address] = {}
        self.messages = self.sends = 0
        self._names = Names()
        self._pauses: list[anyio.Event] = []
        self.engine = Engine(
            self.store,
            self.clock,
            FreshIds(self.clock),
            self._rules(),
            list(self.channels.values()),
            jitter=lambda: 0.0,
        )

    def _rules(self) -> Rules:
        model = ScriptedModel(otherwise=self._answer, clock=self.clock)
        part = Part(
            model=model, spec=SPEC, reason="the only model", system="", place=Place(workspace="/nonexistent")
        )
        door = ChannelPolicy(
            dm_policy=DmPolicy.OPEN,
            group_policy=GroupPolicy.OPEN,
            require_mention=False,
            owner_ids=("loopback:ada", "other:ada"),
        )
        modes = (QueueMode.STEER, QueueMode.FOLLOWUP, QueueMode.COLLECT)
        queue = QueueSettings(mode=self.chance.choice(modes), debounce_ms=self.chance.choice((0, 500)))
        return Rules(
            cast=lambda session, run: part,
            doors={"loopback": door, "other": door},
            routing=RoutingRules(dm_scope=self.chance.choice(list(DmScope))),
            queue=QueuePolicy(base=queue),
        )

    def _answer(self, request: ModelRequest) -> Script:
        """Names the messages that have no answer yet, else a task that has none, else the one it began with."""
        heard: list[str] = []
        first = text_of(request.messages[0])
        for message in request.messages:
            if isinstance(message, AssistantMessage):
                heard.clear()
            elif not isinstance(message, ToolResult):
                heard.append(text_of(message))
        messages = dict.fromkeys(MESSAGE.findall("\n".join(heard)))
        tasks = TASK.findall("\n".join((*heard, first)))
        answer = f"re {' '.join(messages)}" if messages else f"did {tasks[0]}" if tasks else BEAT
        self._pauses.append(anyio.Event())
        return [Until(self._pauses[-1]), Say(answer)]

    # -- what may happen -----------------------------------------------------------------------------

    async def say(self) -> None:
        chat, name = self.chance.choice(CHATS), f"m-{self.messages:03}"
        self.messages += 1
        self.asked[name] = chat.address
        channel = self.channels[chat.account]
        await channel.say(f"{name}.", sender=chat.sender, chat=chat.conversation, external_id=name)

    async def answer(self) -> None:
        if self._pauses:
            self._pauses.pop(self.chance.randrange(len(self._pauses))).set()

    async def spawn(self) -> None:
        """A run has a child do something; its announcement is owed to the chat that the run answers."""
        run = await self._running()
        if run is not None and run.request.reply_to is not None:
            name = f"k-{len(self.asked):03}"
            self.asked[name] = run.request.reply_to
            try:
                await spawn(self._hand(), run, f"{name}.")
            except Conflict:  # it ended meanwhile, and spawned nobody
                del self.asked[name]

    async def send(self) -> None:
        """A run writes to another session, whose answers go back and forth before one is said aloud."""
        run = await self._running()
        if run is not None and run.request.kind is RunKind.TURN:
            target = self.chance.choice(await self._sessions())
            with suppress(Forbidden):
                name = f"x-{self.sends:03}"
                self.sends += 1
                await send(self._hand(), run, target.key, f"{name}.", self.chance.choice((0, 1, 2)))

    async def meet(self) -> None:
        """A session was met elsewhere; nothing else is known of it."""
        if sessions := await self._sessions():
            key = self.chance.choice(sessions).key
            moved = ChangeSession(key=key, route=self.chance.choice(CHATS).address)
            await self.store.change_session(key, lambda _: (moved,))

    async def beat(self) -> None:
        """A timer wakes a session; nobody in a chat asked for it."""
        if sessions := await self._sessions():
            session, name = self.chance.choice(sessions), f"timer-{self.clock.now()}-{self.chance.random()}"
            arrival = self._timer(session, name)

            def decide(snapshot: Snapshot) -> Effects:
                return queueing.accept(snapshot, arrival)

            await self.store.accept_inbound(arrival.inbound, decide)

    async def wait(self) -> None:
        self.clock.advance(self.chance.choice((1, 50, 500, 2_000)))

    async def happen(self, odds: "Odds") -> None:
        (what,) = self.chance.choices(list(odds), list(odds.values()))
        await what(self)
        for _ in range(self.chance.choice((0, 1, 3, 10, 30))):
            await anyio.lowlevel.checkpoint()

    # -- the whole of it -----------------------------------------------------------------------------

    async def pass_by(self, odds: "Odds", messages: int) -> None:
        """So many messages, whatever happens between them, until all is answered."""
        with anyio.fail_after(WITHIN_S):
            async with self.engine.serving(Gateway(name="crossing", holder="this process")) as lease:
                self._lease = lease
                while self.messages < messages:
                    await self.happen(odds)
                await self._calm()

    async def _calm(self) -> None:
        settled = anyio.Event()

        async def wait_settled() -> None:
            for channel in self.channels.values():
                await channel.wait_acknowledged()
            await self.engine.settled()
            settled.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait_settled)
            while not settled.is_set():
                while self._pauses:
                    self._pauses.pop().set()
                for _ in range(30):
                    await anyio.lowlevel.checkpoint()
                self.clock.advance(500)

    def shown(self) -> dict[Address, tuple[str, ...]]:
        """All that was written in each chat."""
        return {chat.address: self.channels[chat.account].replies(chat.address) for chat in CHATS}

    # ------------------------------------------------------------------------------------------------

    def _hand(self) -> Driver:
        driver = Driver(_Home(self.store, self._lease), self.clock)
        driver.names = self._names
        return driver

    async def _sessions(self) -> list[Session]:
        page = await self.store.list_sessions(SessionQuery(limit=100))
        return [row for row in page.rows if row.route is not None]

    async def _running(self) -> Run | None:
        busy = [row.key for row in await self._sessions() if row.status is SessionStatus.RUNNING]
        if not busy:
            return None
        return (await snapshot(self.store, self.chance.choice(busy))).running

    def _timer(self, session: Session, name: str) -> Arrival:
        inbound = Inbound(
            id=name,
            key=session.key,
            principal=OWNER,
            provenance=Provenance(kind=ProvenanceKind.SCHEDULE, principal=OWNER),
            content=(Text("the timer"),),
            source=Source(channel="internal", idempotency_key=name),
            received_at=self.clock.now(),
            trace=name,
        )
        opening = Opening(session_id=f"{name}-session", owner=session.owner, facts=session.facts)
        return Arrival(inbound=inbound, run_id=f"{name}-run", opening=opening, zone=UTC_ZONE)


Happening = Callable[[Crossing], Awaitable[None]]
Odds = Mapping[Happening, int]

TRAFFIC: Odds = {
    Crossing.say: 30,
    Crossing.answer: 30,
    Crossing.spawn: 8,
    Crossing.send: 8,
    Crossing.meet: 8,
    Crossing.beat: 6,
    Crossing.wait: 10,
}
