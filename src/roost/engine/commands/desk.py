"""Where commands are taken: read, allowed, carried out and answered, in one commit.

A command is an accepted message like any other: told twice it is done once. Its answer is a delivery of its own kind.
"""

from dataclasses import replace

from roost.core import commandaccess, commandlines, queueing, visibility
from roost.core.addresses import ChatType
from roost.core.admission import Admitted
from roost.core.arrivals import Arrival, opened
from roost.core.commandaccess import Granted, Ignored, Withheld
from roost.core.commandlines import Line
from roost.core.commands import Form, Name, named
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.effects import AddDelivery, AnswerInput, ChangeSession, Effects, RecordDenial
from roost.core.envelopes import Envelope
from roost.core.errors import InvalidInput, RoostError
from roost.core.identities import Identity
from roost.core.inbound import InboundState
from roost.core.ledger import Denial
from roost.core.notices import derived_id
from roost.core.trees import Tree
from roost.core.triggers import find_trigger
from roost.core.visibility import Denied, Target
from roost.engine.commands.asked import Answer, Asked, Means, Said, Speaker
from roost.engine.commands.handlers import HANDLERS
from roost.engine.stops import STOPPED, Stops
from roost.ports import Accepted


class Desk:
    def __init__(self, means: Means, stops: Stops) -> None:
        self._means = means
        self._stops = stops

    async def take(
        self, envelope: Envelope, admitted: Admitted, arrival: Arrival
    ) -> Accepted | Ignored | None:
        """The command in a message, carried out; None if there is none, and it is a message for the agent."""
        line = self._line(envelope)
        if line is None:
            return None
        speaker = Speaker(
            principal=admitted.principal,
            identity=Identity(channel=envelope.channel, id=envelope.sender.id or ""),
            rule=admitted.rule,
        )
        policy = self._means.rules.commands.policy
        access = commandaccess.decide(line, speaker.principal, admitted.scopes, speaker.identity, policy)
        if isinstance(access, Ignored):
            return await self._ignore(line, arrival, access)
        session = await self._means.store.session(arrival.inbound.key)
        asked = Asked(
            line=line,
            speaker=speaker,
            arrival=arrival,
            session=session or opened(arrival).session,
            stored=session is not None,
        )
        return await self._commit(asked, await self._answer(asked, access))

    def refuse_command(self, envelope: Envelope) -> None:
        """Raise where a message is a command and nothing besides. A lone word to stop is one only while something runs."""
        line = self._line(envelope)
        if line is not None and line.is_all and not line.bare:
            raise InvalidInput(
                f"{line.word} is a command, and begins no turn of an agent",
                hint="say it by `chat.send`, in `roost chat` or with `roost send`",
            )

    def _line(self, envelope: Envelope) -> Line | None:
        """A reset word counts even where commands are not read from text."""
        rules, text = self._means.rules, envelope.text
        if envelope.mentions_bot and envelope.conversation.chat_type is not ChatType.DIRECT:
            text = commandlines.unmentioned(text)
        trigger = find_trigger(text, extras=rules.commands.triggers)
        if trigger is not None:
            return Line(command=named(Name.NEW), argument=trigger.rest, word=trigger.word)
        read = envelope.native_command or rules.commands.policy.text
        return commandlines.read(text) if read else None

    async def _ignore(self, line: Line, arrival: Arrival, access: Ignored) -> Ignored | None:
        """Words that were not meant as a command are a message still."""
        if line.bare or line.message:
            return None
        inbound = arrival.inbound
        await self._means.store.record_denial(
            Denial(
                at=inbound.received_at,
                operation=f"/{line.command.name}",
                principal=inbound.principal,
                rule=access.rule,
                reason="the sender may use no commands",
                caller=inbound.key,
            )
        )
        return access

    async def _answer(self, asked: Asked, access: Granted | Withheld) -> Answer:
        if isinstance(access, Withheld):
            return _refusing(asked, access.message, access.rule)
        denied = denial(asked)
        if denied is not None:
            return _refusing(asked, _sentences(denied.error()), str(denied.reason))
        try:
            return await HANDLERS[asked.line.command.name](self._means, asked)
        except RoostError as error:
            return _failing(error)

    async def _commit(self, asked: Asked, answer: Answer) -> Accepted:
        inbound, ends, answers = asked.arrival.inbound, dict[str, str](), list[Said]()

        def decide(tree: Tree) -> Effects:
            ends.clear()
            answers.clear()
            if asked.line.bare and not (tree.runs or tree.session.children):
                return self._onward(tree, asked.arrival, ends)
            try:
                said = answer(tree)
            except RoostError as error:
                said = Said(text=_sentences(error))
            ends.update(dict.fromkeys(said.ends, STOPPED))
            answers.append(said)
            return self._effects(tree, asked, said, ends)

        accepted = await self._means.store.accept_command(inbound, decide)
        if accepted.duplicate:
            return accepted
        for run_id, reason in ends.items():
            self._stops.end(run_id, reason)
        went_on = accepted.record.state is not InboundState.ANSWERED
        last = answers[-1] if answers else Said()
        return replace(
            accepted,
            aside=last.text if went_on else None,
            interrupts=queueing.INTERRUPTED in ends.values(),
            stopped=last.stopped,
        )

    def _effects(self, tree: Tree, asked: Asked, said: Said, ends: dict[str, str]) -> Effects:
        key, at, arrival = asked.key, asked.at, said.forward or self._words_beside(asked)
        text = said.text or ""
        if arrival is None:
            absent = tree.session.session is None
            kept: Effects = (
                *((opened(asked.arrival),) if absent else ()),
                AnswerInput(
                    inbound=asked.arrival.inbound, command=f"/{asked.line.command.name}", answer=text
                ),
            )
            effects = (*said.effects, *kept) if not absent else (*kept, *said.effects)
        else:
            effects = (*said.effects, *self._onward(tree, arrival, ends))
        changed = () if said.overrides is None else (ChangeSession(key=key, overrides=said.overrides),)
        return (*effects, *changed, *self._deliveries(asked, text, at))

    def _onward(self, tree: Tree, arrival: Arrival, ends: dict[str, str]) -> Effects:
        """What follows from a message that goes on to the agent."""
        rules, plan = self._means.rules, queueing.plan(tree.session, arrival)
        if plan.interrupts is not None:
            ends[plan.interrupts] = queueing.INTERRUPTED
        return (*plan.effects, *rules.house.joined(tree.session, arrival.inbound, rules.met_at))

    def _words_beside(self, asked: Asked) -> Arrival | None:
        """What was said besides a shortcut goes on as a message."""
        said = asked.arrival.inbound.reworded(asked.line.message)
        if not said.content or asked.line.command.form is not Form.SHORTCUT:
            return None
        return replace(asked.arrival, inbound=said)

    def _deliveries(self, asked: Asked, text: str, at: int) -> Effects:
        address = asked.reply_to
        if address is None or not text:
            return ()
        answer = Delivery(
            id=derived_id(asked.arrival.inbound.id, "answer"),
            key=asked.key,
            address=address,
            kind=DeliveryKind.COMMAND,
            text=text,
            created_at=at,
            ready_at=at,
        )
        return (AddDelivery(delivery=answer),)


def denial(asked: Asked) -> Denied | None:
    """What the guard has against a command. Whoever writes in a session's chat takes part in it."""
    session = asked.session
    target = Target(
        key=session.key,
        agent=session.key.agent,
        owner=session.owner,
        participants=frozenset({asked.speaker.principal}),
    )
    decision = visibility.decide(asked.line.command.operation, asked.speaker.caller, target)
    return decision if isinstance(decision, Denied) else None


def _failing(error: RoostError) -> Answer:
    return lambda tree: Said(text=_sentences(error))


def _sentences(error: RoostError) -> str:
    """An error as a person is told it."""
    parts = (part.strip() for part in (error.message, error.hint))
    ended = (part if part.endswith((".", "?", "!")) else f"{part}." for part in parts if part)
    return " ".join(f"{part[0].upper()}{part[1:]}" for part in ended)


def _refusing(asked: Asked, message: str, rule: str) -> Answer:
    refused = Denial(
        at=asked.at,
        operation=f"/{asked.line.command.name}",
        principal=asked.speaker.principal,
        rule=rule,
        reason=message,
        caller=asked.key,
    )
    return lambda tree: Said(text=message, effects=(RecordDenial(denial=refused),))
