"""Takes what a webhook asks for: an event for the next turn, or a turn of its own. Nobody's word, whoever called."""

from dataclasses import dataclass
from datetime import UTC

from roost.core import queueing
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects
from roost.core.facts import classify
from roost.core.hookorders import Around, read_order
from roost.core.hooks import CHANNEL, Action, Call, HookRules, Order, Proof, prove, refuse_replay, source_of
from roost.core.inbound import Inbound, Source
from roost.core.jobs import SystemEvent
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.runs import Lane, Request
from roost.core.sessions import Facts
from roost.core.snapshots import Snapshot
from roost.engine.census import Census
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId
from roost.engine.sysevents import From, SystemEvents
from roost.ports import Accepted, Clock, Store

RULE = "the key that a hook was given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a call asked for, and what was kept of it: the first time that it came."""

    order: Order
    accepted: Accepted


class Hooks:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        book: Rulebook,
        events: SystemEvents,
        census: Census,
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book
        self._events = events
        self._census = census

    @property
    def rules(self) -> HookRules:
        return self._book.current.house.hooks

    def prove(self, call: Call) -> Proof:
        """What the call is known by, if who called may."""
        return prove(call, self.rules)

    def read(self, name: str, payload: JsonValue) -> Order:
        """What would be done."""
        rules = self._book.current
        around = Around(
            agents=rules.commands.agents,
            default_agent=rules.routing.default_agent,
            main_name=rules.routing.main_name,
            uuid=self._new_id(),
        )
        return read_order(name, payload, self.rules, around)

    async def take(self, name: str, payload: JsonValue, proof: Proof, trace: str | None = None) -> Taken:
        """Keep it, as part of a trace if one was named. A delivery that came before is answered with what was kept then; a replay is refused."""
        order = self.read(name, payload)
        source = source_of(name, proof)
        if order.action is Action.WAKE:
            came = From(kind=ProvenanceKind.HOOK, tool=order.tool, source=source, trace=trace)
            event = SystemEvent(text=order.text, wake=order.wake)
            accepted = await self._events.tell(order.key, event, OWNER, came)
        else:
            accepted = await self._begin(order, source, trace)
        if accepted.duplicate:
            refuse_replay(proof, accepted.record.inbound.source)
        return Taken(order=order, accepted=accepted)

    async def _begin(self, order: Order, source: Source, trace: str | None) -> Accepted:
        rules = self._book.current
        main_name = rules.routing.main_name
        home = SessionKey.named(order.key.agent, main_name)
        told = await self._store.session(home) if order.deliver else None
        if await self._store.session(order.key) is None:
            await self._census.make_room()
        inbound = Inbound(
            id=self._new_id(),
            key=order.key,
            principal=OWNER,
            provenance=Provenance(kind=ProvenanceKind.HOOK, source_tool=order.tool),
            content=(Text(order.text),),
            source=source,
            received_at=self._clock.now(),
            trace=trace or self._new_id(),
            reply_to=rules.met_at(told) if told else None,
        )
        request = Request(
            lane=Lane.CRON,
            model=order.model,
            thinking=order.thinking,
            longest_ms=order.timeout_ms,
            posts_to=home if told and home != order.key else None,
        )
        arrival = Arrival(
            inbound=inbound,
            run_id=self._new_id(),
            opening=Opening(
                session_id=self._new_id(),
                owner=rules.routing.ownership.named(order.key, OWNER, OWNER),
                facts=Facts(kind=classify(order.key, main_name), channel=CHANNEL, rule=RULE),
            ),
            zone=UTC,
            request=request,
            room=rules.house.room,
        )

        def decide(snapshot: Snapshot) -> Effects:
            return queueing.accept(snapshot, arrival)

        return await self._store.accept_inbound(inbound, decide)
