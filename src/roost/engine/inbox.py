"""The front door: admission, routing, and one commit with everything that follows from a message."""

from dataclasses import dataclass, replace

from roost.core import admission, queueing, routing
from roost.core.admission import Admitted, PairingRequired, Refused
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects, Snapshot
from roost.core.envelopes import Envelope, labels_of, origin_of, reply_address
from roost.core.facts import facts_of, session_owner
from roost.core.inbound import Inbound, Source
from roost.core.ledger import Denial
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.principals import person
from roost.core.resets import Reset
from roost.core.runs import Request, RunKind
from roost.core.sessions import OpenedBy
from roost.core.triggers import GREETING, Trigger, find_trigger
from roost.engine.rules import NewId, Rules
from roost.engine.stops import Stops
from roost.ports import Accepted, Clock, Store

INTERRUPTED = "a newer message came"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway:
    """A message that was not let in, and the rule that said so."""

    decision: Refused | PairingRequired


class Inbox:
    """Commits messages. Whoever calls `receive` may tell the platform "received" once it returned."""

    def __init__(self, store: Store, clock: Clock, new_id: NewId, rules: Rules, stops: Stops) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._rules = rules
        self._stops = stops

    async def receive(self, envelope: Envelope) -> Accepted | TurnedAway:
        decision = admission.decide(envelope, self._rules.door(envelope.channel))
        if not isinstance(decision, Admitted):
            await self._store.record_denial(self._denial(envelope, decision))
            return TurnedAway(decision=decision)
        return await self._accept(await self._arrival(envelope, decision))

    async def _accept(self, arrival: Arrival) -> Accepted:
        plans: list[queueing.Plan] = []

        def decide(snapshot: Snapshot) -> Effects:
            plans.append(queueing.plan(snapshot, arrival))
            return plans[-1].effects

        accepted = await self._store.accept_inbound(arrival.inbound, decide)
        if plans and plans[-1].interrupts:
            self._stops.end(plans[-1].interrupts, INTERRUPTED)
        return accepted

    async def _arrival(self, envelope: Envelope, admitted: Admitted) -> Arrival:
        rules = self._rules
        address = reply_address(envelope)
        bound = await self._store.thread_binding(address) if address and address.thread else None
        if bound is not None and bound.expired(self._clock.now()):
            bound = None
        route = routing.route(envelope, admitted.principal, rules.routing, bound.key if bound else None)
        arrival = Arrival(
            inbound=Inbound(
                id=self._new_id(),
                key=route.key,
                principal=admitted.principal,
                provenance=Provenance(kind=ProvenanceKind.HUMAN, principal=admitted.principal),
                content=(Text(envelope.text),),
                source=Source(
                    channel=envelope.channel, account=envelope.account, external_id=envelope.external_id
                ),
                received_at=self._clock.now(),
                trace=self._new_id(),
                sender_name=envelope.sender.name,
                reply_to=address,
            ),
            run_id=self._new_id(),
            opening=Opening(
                session_id=self._new_id(),
                owner=session_owner(route.key, rules.routing.main_name, creator=admitted.principal),
                facts=facts_of(route, envelope, rules.routing.main_name),
                origin=origin_of(envelope),
                labels=labels_of(envelope),
            ),
            zone=rules.zone,
            queue=rules.queue,
            resets=rules.resets,
        )
        trigger = find_trigger(envelope.text, extras=rules.triggers)
        return arrival if trigger is None else self._reset(arrival, trigger)

    def _reset(self, arrival: Arrival, trigger: Trigger) -> Arrival:
        """The message after a reset word opens the new generation; a lone word asks for a greeting."""
        reset = Reset(
            reason=OpenedBy.NEW,
            session_id=arrival.opening.session_id,
            at=arrival.inbound.received_at,
            rule=f"trigger {trigger.word}",
        )
        if not trigger.rest:
            return replace(arrival, reset=reset, request=Request(kind=RunKind.GREETING, prompt=GREETING))
        inbound = replace(arrival.inbound, content=(Text(trigger.rest),))
        return replace(arrival, reset=reset, inbound=inbound)

    def _denial(self, envelope: Envelope, decision: Refused | PairingRequired) -> Denial:
        return Denial(
            at=self._clock.now(),
            operation="inbound",
            principal=person(envelope.channel, envelope.sender.id or "unknown"),
            rule=decision.rule,
            reason=f"a message on {envelope.channel} was not let in",
        )
