"""Why a session is as it is, from the reasons that were stored when it happened."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from roost.core import lifecycle, reasons
from roost.core.commands import Aspect
from roost.core.deliveries import DeliveryState
from roost.core.endings import visible
from roost.core.entries import Entry
from roost.core.errors import RoostError
from roost.core.events import EventKind
from roost.core.figures import counted, dollars, moment
from roost.core.ledger import Denial, LedgerTotal
from roost.core.messages import AssistantMessage, text_of
from roost.core.principals import OWNER, Principal, person
from roost.core.prose import unleaked
from roost.core.queries import DenialQuery, HistoryQuery, LedgerQuery
from roost.core.refusals import INBOUND, REPEATED_MS
from roost.core.runs import Run
from roost.core.sentinels import sentinel_of
from roost.core.sessions import Facts, Session, SessionKind
from roost.core.threads import ThreadBinding
from roost.core.visibility import VisibleScope
from roost.engine.rules import Rules
from roost.ports import Store

_EVENTS, _SHOWN, _SENT = 200, 5, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A session as it is now, who asks about it, and what would answer him next: the turn, the `chat` he asks in, if it is
    one, and its thread, if that is bound."""

    session: Session
    principal: Principal
    at: int
    turn: Run
    chat: Facts | None = None
    thread: ThreadBinding | None = None


class Explainer:
    def __init__(self, store: Store, rules: Rules) -> None:
        self._store = store
        self._rules = rules
        self._why: Mapping[Aspect, Callable[[Inquiry], Awaitable[str]]] = MappingProxyType(
            {
                Aspect.ROUTE: self._route,
                Aspect.MODEL: self._model,
                Aspect.RESET: self._reset,
                Aspect.SILENCE: self._silence,
                Aspect.DENIAL: self._denial,
                Aspect.TRACE: self._trace,
                Aspect.COST: self._cost,
            }
        )

    async def why(self, aspect: Aspect, inquiry: Inquiry) -> str:
        return await self._why[aspect](inquiry)

    async def _route(self, asked: Inquiry) -> str:
        key, bound = asked.session.key, asked.thread
        if bound is not None and bound.key == key:
            return reasons.bound(key, bound.bound_by)
        return reasons.routed(asked.session)

    async def _model(self, asked: Inquiry) -> str:
        last = await self._last_run(asked)
        if last and last.outcome and last.outcome.model:
            return reasons.answered(last.outcome.model, last.outcome.model_reason)
        try:
            part = self._rules.cast(asked.session, asked.turn)
        except RoostError as error:
            return reasons.unanswerable(error)
        return reasons.answering(str(part.spec.ref), part.reason)

    async def _trace(self, asked: Inquiry) -> str:
        """The thread through everything that one message led to, in other sessions and in the log too."""
        last = await self._last_run(asked)
        if last is None:
            return "Trace: no run has ended here."
        sent = await self._store.exchanges_of(last.key, _SENT)
        carried = [reasons.carried(one) for one in sent if one.sent.remote and one.sent.by == last.id]
        return "\n".join((reasons.traced(last.cause, last.id), *reversed(carried)))

    async def _reset(self, asked: Inquiry) -> str:
        zone, session = self._rules.zone, asked.session
        generations = await self._store.generations(session.key)
        current = next((one for one in generations if one.session_id == session.session_id), None)
        opened = "Reset: this conversation has just begun."
        if current is not None:
            opened = reasons.began(current.opened_by, moment(current.opened_at, zone), current.rule)
        rule_now = lifecycle.rule_for(self._rules.resets, session.key, asked.chat or _last_met(session))
        due = lifecycle.next_reset(rule_now, session.times.interacted, zone)
        until = moment(due.boundary, zone) if due else None
        return f"{opened} {reasons.ends(until, rule_now.name)}"

    async def _silence(self, asked: Inquiry) -> str:
        """Why the last answer was none, and that what does not mention the agent gets none either."""
        last, key = await self._last_run(asked), asked.session.key
        noted = await self._store.denials(1, DenialQuery(caller=key, operation=INBOUND))
        # One that came after the last answer may be meant by a note from before it.
        since = last.outcome.at - REPEATED_MS if last and last.outcome else 0
        unheard = (reasons.unheard(one, asked.at) for one in noted if one.at > since)
        return " ".join((await self._unanswered(asked, last), *unheard))

    async def _unanswered(self, asked: Inquiry, last: Run | None) -> str:
        if last is None or last.outcome is None:
            return "Silence: no run has ended here."
        outcome = last.outcome
        if not outcome.succeeded:
            return reasons.failed(outcome, asked.at)
        denial = await self._denied_send(last)
        if denial is not None:
            return reasons.held_back(denial)
        words = await self._last_words(asked, last)
        token = sentinel_of(unleaked(words))
        if token is not None:
            return reasons.chosen(token, outcome.at, asked.at)
        if words and visible(words) is None:
            return reasons.only_leaks(outcome.at, asked.at)
        here = VisibleScope(self_key=asked.session.key)
        for state in (DeliveryState.FAILED, DeliveryState.UNCERTAIN):
            for delivery in await self._store.deliveries(state, 1, here):
                return reasons.unsent(delivery)
        return reasons.no_silence(outcome.at, asked.at)

    async def _denial(self, asked: Inquiry) -> str:
        """The owner sees what was refused here, to whom it is about or to others who named it, and others what was refused to
        them; of each the newest."""
        queries = [DenialQuery(told=asked.principal)]
        if asked.principal.is_owner:
            queries = list(_refused_around(asked.session))
        found = [one for query in queries for one in await self._store.denials(_SHOWN, query)]
        if not found:
            return "Denials: none."
        newest = sorted(found, key=lambda one: one.at, reverse=True)
        return "\n".join(("Denials:", *(reasons.denied(one, asked.at) for one in newest)))

    async def _cost(self, asked: Inquiry) -> str:
        """What most was paid for, and what the children of a session add to it: to its owner of all, to others of what
        they caused."""
        key, whose = asked.session.key, None if asked.principal.is_owner else asked.principal
        own, tree = LedgerTotal(), await self._store.usage(LedgerQuery(tree_of=key, principal=whose))
        models: dict[str, LedgerTotal] = {}
        for spent in await self._store.spending(LedgerQuery(key=key, principal=whose)):
            name, own = f"{spent.provider}/{spent.model}", own.plus(spent.total)
            models[name] = models.get(name, LedgerTotal()).plus(spent.total)
        if not tree.calls:
            return "Cost: no model was called here."
        told = [f"Cost: {_priced(own)}"]
        if models:
            name, most = max(models.items(), key=lambda item: (item[1].usage.cost_micros, item[1].calls))
            told.append(f"most of it for {name}: {_priced(most)}")
        if tree != own:
            told.append(f"with sub-agents {_priced(tree)}")
        return f"{'; '.join(told)}."

    async def _last_run(self, asked: Inquiry) -> Run | None:
        after = max(0, asked.session.events - _EVENTS)
        events = await self._store.events(asked.session.key, after=after, limit=_EVENTS)
        ended = [event.ref for event in events if event.kind is EventKind.RUN_ENDED]
        return await self._store.run(ended[-1]) if ended else None

    async def _denied_send(self, run: Run) -> Denial | None:
        query = DenialQuery(caller=run.key, operation="send", target=run.id)
        return next(iter(await self._store.denials(1, query)), None)

    async def _last_words(self, asked: Inquiry, run: Run) -> str:
        page = await self._store.history(HistoryQuery(key=asked.session.key, limit=_SHOWN))
        return next((text for text in map(_words, reversed(page.entries), [run.id] * _SHOWN) if text), "")


def _refused_around(session: Session) -> Iterator[DenialQuery]:
    key, facts = session.key, session.facts
    yield DenialQuery(caller=key)
    yield DenialQuery(at_door=True, target=str(key))
    if facts.kind is SessionKind.MAIN:
        # Whoever is let in writes there.
        yield DenialQuery(at_door=True, operation=INBOUND)
        return
    people = {session.owner} - {OWNER}
    if facts.channel and facts.peer:
        people.add(person(facts.channel, facts.peer))
    for one in sorted(people, key=str):
        yield DenialQuery(at_door=True, operation=INBOUND, told=one)


def _last_met(session: Session) -> Facts:
    """The chat it was last spoken in, as far as one is known."""
    return session.facts if session.route is None else session.facts._replace(channel=session.route.channel)


def _words(entry: Entry, run_id: str) -> str:
    ours = entry.run_id == run_id and isinstance(entry.body, AssistantMessage)
    return text_of(entry.body) if ours and isinstance(entry.body, AssistantMessage) else ""


def _priced(total: LedgerTotal) -> str:
    return f"{dollars(total.usage.cost_micros)} in {counted(total.calls, 'model call')}"
