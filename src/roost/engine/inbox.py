"""The front door: admission, routing, and one commit with everything that follows from a message."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from roost.core import admission, queueing
from roost.core.addressed import Addressed, Commands, facts_of_named
from roost.core.addresses import Account, ChatType
from roost.core.admission import Admission, AdmissionRule, Admitted, PairingRequired, Refused
from roost.core.arrivals import Arrival, Opening, Overtaken
from roost.core.commandaccess import Ignored
from roost.core.effects import Effects
from roost.core.envelopes import Envelope, labels_of, origin_of, reply_address
from roost.core.facts import facts_of
from roost.core.inbound import Inbound, Source
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.principals import OWNER, Principal, person
from roost.core.queries import DenialQuery
from roost.core.references import refuse_thread
from roost.core.refusals import INBOUND, is_news
from roost.core.routing import Route
from roost.core.sessions import Activation
from roost.core.snapshots import Snapshot
from roost.core.threads import ThreadBinding
from roost.core.visibility import Operation, PersonCaller
from roost.engine.census import Census
from roost.engine.commands.asked import Means
from roost.engine.commands.desk import Desk
from roost.engine.reaching import reach, routed
from roost.engine.rulebook import Rulebook
from roost.engine.rules import NewId, Rules
from roost.engine.stops import Stops
from roost.ports import Accepted, Channel, Clock, Store

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway:
    """A message that was not let in, and the rule that said so."""

    decision: Refused | PairingRequired | Ignored


class Inbox:
    """Commits messages, each by the rules of the moment it came. Whoever calls `receive` may tell the platform "received"
    once it returned."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        book: Rulebook,
        stops: Stops,
        channels: Sequence[Channel],
        census: Census,
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._book = book
        self._stops = stops
        self._census = census
        self._means = Means(
            store=store,
            rules=book.current,
            channels=tuple(channels),
            started_at=clock.now(),
        )

    async def receive(self, envelope: Envelope) -> Accepted | TurnedAway:
        rules = self._book.current
        decision, group = await self._admission(envelope, rules)
        if not isinstance(decision, Admitted):
            await self._note(self._denial(envelope, decision, group))
            return TurnedAway(decision=decision)
        try:
            return await self._take(envelope, decision, await self._arrival(envelope, decision, rules), rules)
        except Overtaken:
            # Now it is there, and found to be another's.
            return await self._take(envelope, decision, await self._arrival(envelope, decision, rules), rules)

    async def say(self, said: Addressed) -> Accepted | TurnedAway:
        """Take a message that names its session, from one whom a credential has let in."""
        rules = self._book.current
        if said.commands is Commands.REFUSED:
            self._desk(rules).refuse_command(said.envelope)
        if said.relayed:
            refuse_thread(said.key)
        caller = PersonCaller(principal=said.principal)
        found = await reach(self._store, Operation.SEND, caller, said.key, self._clock.now())
        if found is None:
            await self._census.make_room()
        owner = found.owner if found else rules.routing.ownership.named(said.key, said.principal)
        arrival = self._addressed(said, owner, rules)
        if said.commands is Commands.WORDS or said.relayed:
            return await self._accept(arrival)
        admitted = Admitted(principal=said.principal, rule=AdmissionRule.CREDENTIAL, scopes=said.scopes)
        return await self._take(said.envelope, admitted, arrival, rules)

    async def _take(
        self, envelope: Envelope, admitted: Admitted, arrival: Arrival, rules: Rules
    ) -> Accepted | TurnedAway:
        taken = await self._desk(rules).take(envelope, admitted, arrival)
        if isinstance(taken, Ignored):
            return TurnedAway(decision=taken)
        return taken or await self._accept(arrival)

    def _desk(self, rules: Rules) -> Desk:
        return Desk(replace(self._means, rules=rules), self._stops)

    async def _admission(self, envelope: Envelope, rules: Rules) -> tuple[Admission, SessionKey | None]:
        """With the group that was asked: whether it must mention the agent is the account's setting, unless its session
        says otherwise."""
        door = rules.door(Account(envelope.channel, envelope.account))
        decision = admission.decide(envelope, replace(door, require_mention=False))
        if not isinstance(decision, Admitted) or envelope.conversation.chat_type is ChatType.DIRECT:
            return decision, None
        route, _ = await self._route(envelope, decision, rules)
        session = await self._store.session(route.key)
        own = session.overrides.activation if session else None
        required = door.require_mention if own is None else own == Activation.MENTION
        return admission.decide(envelope, replace(door, require_mention=required)), route.key

    async def _route(
        self, envelope: Envelope, admitted: Admitted, rules: Rules
    ) -> tuple[Route, ThreadBinding | None]:
        """Where a message goes, and the bound thread that says so."""
        address = reply_address(envelope)
        found = await self._store.thread_binding(address) if address and address.thread else None
        bound = rules.routing.threads.living(found, self._clock.now())
        key = bound.key if bound else None
        return await routed(self._store, envelope, admitted.principal, rules.routing, key), bound

    async def _accept(self, arrival: Arrival) -> Accepted:
        plans: list[queueing.QueuePlan] = []

        def decide(snapshot: Snapshot) -> Effects:
            plans.append(queueing.plan(snapshot, arrival))
            rules = self._book.current
            return (*plans[-1].effects, *rules.house.joined(snapshot, arrival.inbound, rules.met_at))

        accepted = await self._store.accept_inbound(arrival.inbound, decide)
        taken = accepted.record.inbound
        _log.info(
            "message %s was accepted", taken.id, extra={"trace": taken.trace, "run": accepted.record.run_id}
        )
        # What was planned for a message that proved to be a duplicate was not done.
        if plans and not accepted.duplicate and plans[-1].interrupts:
            self._stops.end(plans[-1].interrupts, queueing.INTERRUPTED)
            return replace(accepted, interrupts=True)
        return accepted

    async def _arrival(self, envelope: Envelope, admitted: Admitted, rules: Rules) -> Arrival:
        route, bound = await self._route(envelope, admitted, rules)
        return Arrival(
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
                reply_to=reply_address(envelope),
            ),
            run_id=self._new_id(),
            opening=Opening(
                session_id=self._new_id(),
                # A child is met in a bound thread only, where it is there already.
                owner=rules.routing.ownership.met(route.key, admitted.principal, OWNER),
                facts=facts_of(route, envelope, rules.routing.main_name),
                origin=origin_of(envelope),
                labels=labels_of(envelope),
            ),
            zone=rules.zone,
            queue=rules.queue,
            resets=rules.resets,
            thread=bound.address if bound else None,
            each_pays=rules.each_pays,
        )

    def _addressed(self, said: Addressed, owner: Principal, rules: Rules) -> Arrival:
        return Arrival(
            inbound=Inbound(
                id=self._new_id(),
                key=said.key,
                principal=said.principal,
                provenance=said.provenance,
                content=said.content,
                source=said.source,
                received_at=self._clock.now(),
                trace=said.trace or self._new_id(),
                reply_to=said.reply_to,
                hops=said.hops,
            ),
            run_id=said.run_id,
            opening=said.opening
            or Opening(
                session_id=self._new_id(),
                owner=owner,
                facts=facts_of_named(said.key, rules.routing.main_name),
            ),
            zone=rules.zone,
            queue=rules.queue,
            resets=rules.resets,
            request=said.request,
            mode=said.mode,
            each_pays=rules.each_pays,
            agents=rules.commands.agents,
            room=rules.house.room,
        )

    async def _note(self, denial: Denial) -> None:
        """That a group talks past the agent, or that somebody is not let in, is noted once an hour, not with every message."""
        if denial.caller is None:
            same = DenialQuery(operation=denial.operation, told=denial.principal, at_door=True)
        else:
            same = DenialQuery(operation=denial.operation, caller=denial.caller)
        # Each rule is among them at most once an hour.
        if is_news(denial, await self._store.denials(len(AdmissionRule), same)):
            await self._store.record_denial(denial)

    def _denial(
        self, envelope: Envelope, decision: Refused | PairingRequired, group: SessionKey | None
    ) -> Denial:
        return Denial(
            at=self._clock.now(),
            operation=INBOUND,
            principal=person(envelope.channel, envelope.sender.id or "unknown"),
            rule=decision.rule,
            reason=f"a message on {envelope.channel} was not let in",
            caller=group,
        )
