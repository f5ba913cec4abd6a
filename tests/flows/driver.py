"""An engine in miniature: it plays every stage by hand, so that a test decides what happens between two verbs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from roost.core import admission, finishing, queueing, recovery, routing
from roost.core.addresses import ChatType
from roost.core.admission import Admitted, ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.announce import Stats, announce_text, read_report
from roost.core.arrivals import Arrival, Opening
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import AddDelivery, AppendEntries, Effects
from roost.core.endings import Ending
from roost.core.entries import Entry, EntryDraft
from roost.core.envelopes import Conversation, Envelope, Sender, labels_of, origin_of, reply_address
from roost.core.errors import Fenced
from roost.core.exchanges import Completion
from roost.core.facts import facts_of
from roost.core.inbound import Inbound, Source
from roost.core.inputs import entries_of
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.lifecycle import ResetMode, ResetPolicy, ResetSetting
from roost.core.messages import (
    AssistantMessage,
    Provenance,
    ProvenanceKind,
    Text,
    UserMessage,
    text_of,
)
from roost.core.queries import HistoryQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.recovery import Recovery
from roost.core.resets import Reset
from roost.core.routing import RoutingRules
from roost.core.runs import Claim, Outcome, Request, Run, RunKind, RunState
from roost.core.sessions import OpenedBy, Session
from roost.core.snapshots import Advance, RunSnapshot, Snapshot
from roost.core.triggers import find_trigger
from roost.core.turntaking import Backlog
from roost.ports import Accepted, Store
from roost.testing.builders import Names
from roost.testing.clock import FakeClock
from tests.samples import UTC_ZONE

OPEN_DOOR = ChannelPolicy(
    dm_policy=DmPolicy.OPEN,
    group_policy=GroupPolicy.OPEN,
    require_mention=False,
    owner_ids=("telegram:1", "discord:1"),
)
NO_RESET = ResetPolicy(base=ResetSetting(mode=ResetMode.NONE))
AT_ONCE = QueuePolicy(base=QueueSettings(debounce_ms=0))
NO_BINDINGS = RoutingRules()
DELIVERED = frozenset({RunKind.TURN, RunKind.GREETING, RunKind.CONTINUATION})


class Home(Protocol):
    store: Store
    lease: Lease

    async def restart(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """The configuration of a test."""

    door: ChannelPolicy = OPEN_DOOR
    rules: RoutingRules = NO_BINDINGS
    queue: QueuePolicy = AT_ONCE
    resets: ResetPolicy = NO_RESET


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a run ends."""

    text: str | None = None
    state: RunState = RunState.DONE
    yielded: bool = False


OUT_OF_TIME = Said(state=RunState.TIMEOUT)
Script = Callable[[Run], Said]


def dm(text: str, sender: str = "1", *, channel: str = "telegram", name: str | None = None) -> Envelope:
    return Envelope(
        channel=channel,
        sender=Sender(id=sender, name=name),
        conversation=Conversation(chat_type=ChatType.DIRECT, peer=sender),
        text=text,
    )


def in_group(
    text: str, sender: str = "1", *, group: str = "-100", topic: str | None = None, name: str | None = None
) -> Envelope:
    chat = Conversation(chat_type=ChatType.GROUP, peer=group, topic=topic, subject="Kitchen")
    return Envelope(channel="telegram", sender=Sender(id=sender, name=name), conversation=chat, text=text)


def announcement(completion: Completion, written: str | None) -> str:
    stats = Stats(runtime_ms=0, tokens_in=0, tokens_out=0, key=str(completion.child), session_id="-")
    return announce_text(completion, stats, read_report(written) if written else None)


def claim_of(run: Run) -> Claim:
    assert run.claim is not None
    return run.claim


class Driver:
    """Plays the inbox, the scheduler and the runner of one gateway."""

    def __init__(self, home: Home, clock: FakeClock) -> None:
        self.home, self.clock = home, clock
        self.house = House()
        self.names = Names()

    @property
    def store(self) -> Store:
        return self.home.store

    # -- inbox ---------------------------------------------------------------------------------------

    def inbound(self, envelope: Envelope, key: SessionKey, admitted: Admitted) -> Inbound:
        name = self.names("message")
        return Inbound(
            id=name,
            key=key,
            principal=admitted.principal,
            provenance=Provenance(kind=ProvenanceKind.HUMAN, principal=admitted.principal),
            content=(Text(envelope.text),),
            source=Source(
                channel=envelope.channel,
                account=envelope.account,
                external_id=envelope.external_id or f"native-{name}",
            ),
            received_at=self.clock.now(),
            trace=f"trace-{name}",
            sender_name=envelope.sender.name,
            reply_to=reply_address(envelope),
        )

    async def hear(self, envelope: Envelope, bound: SessionKey | None = None) -> Accepted:
        """A message comes in, perhaps in a thread that a session is bound to; one that interrupts ends the run under
        way."""
        accepted, plan = await self.let_in(envelope, bound)
        if plan and plan.interrupts:
            await self.stop(plan.interrupts)
        return accepted

    async def let_in(
        self, envelope: Envelope, bound: SessionKey | None = None
    ) -> tuple[Accepted, queueing.QueuePlan | None]:
        """A message comes in at the door, and nothing else happens."""
        admitted = admission.decide(envelope, self.house.door)
        assert isinstance(admitted, Admitted), admitted
        main_name = self.house.rules.main_name
        route = routing.route(envelope, admitted.principal, self.house.rules)
        inbound = self.inbound(envelope, bound or route.key, admitted)
        opening = Opening(
            session_id=self.names("generation"),
            owner=self.house.rules.ownership.met(route.key, admitted.principal),
            facts=facts_of(route, envelope, main_name),
            origin=origin_of(envelope),
            labels=labels_of(envelope),
        )
        arrival = Arrival(
            inbound=inbound,
            run_id=self.names("run"),
            opening=opening,
            zone=UTC_ZONE,
            queue=self.house.queue,
            resets=self.house.resets,
        )
        return await self._accept(self._with_trigger(arrival, envelope.text))

    async def _accept(self, arrival: Arrival) -> tuple[Accepted, queueing.QueuePlan | None]:
        plans: list[queueing.QueuePlan] = []

        def decide(snapshot: Snapshot) -> Effects:
            plans.append(queueing.plan(snapshot, arrival))
            return plans[-1].effects

        accepted = await self.store.accept_inbound(arrival.inbound, decide)
        return accepted, plans[-1] if plans else None

    def _with_trigger(self, arrival: Arrival, text: str) -> Arrival:
        trigger = find_trigger(text)
        if trigger is None:
            return arrival
        reset = Reset(
            reason=OpenedBy.NEW,
            session_id=arrival.opening.session_id,
            at=self.clock.now(),
            rule=f"trigger {trigger.word}",
        )
        request = arrival.request if trigger.rest else Request(kind=RunKind.GREETING)
        content = (Text(trigger.rest or text),)
        return replace(
            arrival, reset=reset, request=request, inbound=replace(arrival.inbound, content=content)
        )

    # -- scheduler and runner ------------------------------------------------------------------------

    async def start(self) -> Run | None:
        """Claim the oldest run that is ready."""

        def oldest(backlog: Backlog) -> tuple[str, ...]:
            return tuple(run.id for run in backlog.ready[:1])

        claimed = await self.store.claim_runs(self.home.lease, oldest)
        return claimed[0] if claimed else None

    async def started(self) -> Run:
        run = await self.start()
        assert run is not None
        return run

    async def take(self, run: Run) -> tuple[Entry, ...]:
        return await self.store.take_inputs(claim_of(run), entries_of)

    async def finish(self, run: Run, said: Said) -> Run:
        return await self.store.finish_run(claim_of(run), self._advance(said))

    async def give_up(self) -> list[Run]:
        """End everything that waits for others though its time is over."""
        overdue, advance = await self.store.overdue_runs(self.clock.now()), self._advance(OUT_OF_TIME)
        ended = [await self.store.give_up(self.home.lease, run.id, advance) for run in overdue]
        return [run for run in ended if run is not None]

    async def stop(self, run_id: str) -> None:
        """End a run that is under way."""
        run = await self.store.run(run_id)
        assert run is not None
        await self.finish(run, Said(state=RunState.KILLED))

    async def play(self, script: Script) -> list[Run]:
        """Run everything that is ready until nothing is, each as the script says."""
        ended = []
        while run := await self.start():
            try:
                await self.take(run)
            except Fenced:
                ended.append(await self.finish(run, Said(state=RunState.KILLED)))
            else:
                ended.append(await self.finish(run, script(run)))
        return ended

    async def recover(self) -> tuple[Run, ...]:
        """The gateway dies, begins anew and gives every run it finds its fate."""
        await self.home.restart()
        decided = Recovery(now=self.clock.now(), announce=announcement)
        return await self.store.reap_runs(
            self.home.lease, lambda snapshot: recovery.recover(snapshot, decided)
        )

    def _advance(self, said: Said) -> Advance:
        error = None if said.state is RunState.DONE else "it went wrong"
        outcome = Outcome(state=said.state, at=self.clock.now(), yielded=said.yielded, error=error)
        ending = Ending(outcome=outcome, announce=announcement, reply=said.text)

        def advance(snapshot: RunSnapshot) -> Effects:
            return (*_words(snapshot, ending), *finishing.finish(snapshot, ending))

        return advance

    # -- what came of it -----------------------------------------------------------------------------

    async def session(self, key: SessionKey) -> Session:
        session = await self.store.session(key)
        assert session is not None
        return session

    async def history(self, key: SessionKey) -> list[str]:
        """The texts of the whole timeline, oldest first."""
        page = await self.store.history(HistoryQuery(key=key, limit=10_000))
        return [
            text_of(entry.body)
            for entry in page.entries
            if isinstance(entry.body, UserMessage | AssistantMessage)
        ]

    async def deliveries(self, kind: DeliveryKind) -> list[Delivery]:
        """What waits to be sent, oldest first; nothing here is ever sent."""
        waiting = await self.store.deliveries(DeliveryState.INTENT, 10_000)
        return [delivery for delivery in waiting if delivery.kind is kind]


def _words(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """The last answer, unless the session was reset under the run, and its delivery."""
    run, said = snapshot.run, ending.said
    if said is None:
        return ()
    at = ending.outcome.at
    answer = EntryDraft(
        id=f"answer-{run.id}", body=AssistantMessage(content=(Text(said),), at=at), run_id=run.id
    )
    written: Effects = () if snapshot.reset_away else (AppendEntries(key=run.key, drafts=(answer,)),)
    if run.request.reply_to is None or run.request.kind not in DELIVERED:
        return written
    reply = Delivery(
        id=f"reply-{run.id}",
        key=run.key,
        address=run.request.reply_to,
        kind=DeliveryKind.REPLY,
        text=said,
        created_at=at,
        run_id=run.id,
        ready_at=at,
    )
    return (*written, AddDelivery(delivery=reply))
