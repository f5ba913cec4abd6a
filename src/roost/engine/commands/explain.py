"""`/explain`: why, from the reasons that were stored when it happened."""

from collections.abc import Awaitable, Callable
from types import MappingProxyType

from roost.core import lifecycle
from roost.core.deliveries import DeliveryState
from roost.core.entries import Entry
from roost.core.errors import InvalidInput, RoostError
from roost.core.events import EventKind
from roost.core.figures import age, moment
from roost.core.ledger import Denial
from roost.core.messages import AssistantMessage, text_of
from roost.core.queries import HistoryQuery
from roost.core.runs import Run
from roost.core.sentinels import sentinel_of
from roost.engine.commands.asked import Answer, Asked, Means, saying

_EVENTS, _DENIALS, _SHOWN, _UNSENT = 200, 1_000, 5, 1_000


async def explain(means: Means, asked: Asked) -> Answer:
    word = asked.argument.lower()
    if word and word not in _WHY:
        raise InvalidInput(f"/explain knows no {word!r}", hint=f"say one of {', '.join(_WHY)}")
    chosen = [_WHY[word]] if word else list(_WHY.values())
    return saying("\n".join([await why(means, asked) for why in chosen]))


async def _route(means: Means, asked: Asked) -> str:
    bound = await means.thread(asked)
    if bound is not None and bound.key == asked.key:
        return f"Session: {asked.key}, because {bound.bound_by} bound this thread to it."
    return f"Session: {asked.key}, because of {asked.session.facts.rule or 'no stored rule'}."


async def _model(means: Means, asked: Asked) -> str:
    last = await _last_run(means, asked)
    if last and last.outcome and last.outcome.model:
        return f"Model: the last answer came from {last.outcome.model}, because: {last.outcome.model_reason}."
    try:
        part = means.part(asked)
    except RoostError as error:
        return f"Model: none can answer, {error}"
    return f"Model: the next answer comes from {part.spec.ref}, because: {part.reason}."


async def _trace(means: Means, asked: Asked) -> str:
    """The thread through everything that one message led to, in other sessions and in the log too."""
    last = await _last_run(means, asked)
    if last is None:
        return "Trace: no run has ended here."
    cause = last.cause
    return (
        f"Trace: {cause.trace}, from a {cause.kind} message of {cause.principal}; the last run was {last.id}."
    )


async def _reset(means: Means, asked: Asked) -> str:
    zone = means.rules.zone
    generations = await means.store.generations(asked.key)
    current = next((one for one in generations if one.session_id == asked.session.session_id), None)
    opened = "Reset: this conversation has just begun."
    if current is not None:
        rule = f" by {current.rule}" if current.rule else ""
        opened = (
            f"Reset: this conversation began {moment(current.opened_at, zone)} ({current.opened_by}){rule}."
        )
    session = asked.session
    kind = lifecycle.reset_type(session.key, session.facts)
    rule_now = lifecycle.resolve(means.rules.resets, kind, session.facts.channel)
    due = lifecycle.next_reset(rule_now, session.times.interacted, zone)
    when = f"from {moment(due.boundary, zone)}" if due else "never"
    return f"{opened} The next message resets it {when} ({rule_now.name})."


async def _silence(means: Means, asked: Asked) -> str:
    last = await _last_run(means, asked)
    if last is None or last.outcome is None:
        return "Silence: no run has ended here."
    outcome = last.outcome
    when = age(asked.at - outcome.at)
    if not outcome.succeeded:
        return f"Silence: the last run ended as {outcome.state} {when}: {outcome.error or outcome.code}."
    denial = await _denied_send(means, asked, last)
    if denial is not None:
        return f"Silence: the last answer was not sent, because of {denial.rule}."
    token = sentinel_of(await _last_words(means, asked, last))
    if token is not None:
        return f"Silence: the model answered {token} {when}, which means that nothing is sent."
    for state in (DeliveryState.FAILED, DeliveryState.UNCERTAIN):
        for delivery in await means.store.deliveries(state, _UNSENT):
            if delivery.key == asked.key:
                return f"Silence: a message is {state}: {delivery.error or 'its outcome is unknown'}."
    return f"Silence: none; the last answer was given {when}."


async def _denial(means: Means, asked: Asked) -> str:
    """The owner sees what was refused here or at the door, others what was refused to them."""
    found = [denial for denial in await means.store.denials(_DENIALS) if _concerns(denial, asked)]
    if not found:
        return "Denials: none."
    lines = [
        f"- {age(asked.at - denial.at)}: {denial.operation} by {denial.principal}, because of {denial.rule}: "
        f"{denial.reason}"
        for denial in found[:_SHOWN]
    ]
    return "\n".join(("Denials:", *lines))


def _concerns(denial: Denial, asked: Asked) -> bool:
    if asked.speaker.principal.is_owner:
        return denial.caller in (None, asked.key)
    return denial.principal == asked.speaker.principal


async def _last_run(means: Means, asked: Asked) -> Run | None:
    after = max(0, asked.session.events - _EVENTS)
    events = await means.store.events(asked.key, after=after, limit=_EVENTS)
    ended = [event.ref for event in events if event.kind is EventKind.RUN_ENDED]
    return await means.store.run(ended[-1]) if ended else None


async def _denied_send(means: Means, asked: Asked, run: Run) -> Denial | None:
    for denial in await means.store.denials(_DENIALS):
        if denial.operation == "send" and denial.target == run.id:
            return denial
    return None


async def _last_words(means: Means, asked: Asked, run: Run) -> str:
    page = await means.store.history(HistoryQuery(key=asked.key, limit=_SHOWN))
    return next((text for text in map(_words, reversed(page.entries), [run.id] * _SHOWN) if text), "")


def _words(entry: Entry, run_id: str) -> str:
    ours = entry.run_id == run_id and isinstance(entry.body, AssistantMessage)
    return text_of(entry.body) if ours and isinstance(entry.body, AssistantMessage) else ""


_Why = Callable[[Means, Asked], Awaitable[str]]
_WHY: MappingProxyType[str, _Why] = MappingProxyType(
    {
        "route": _route,
        "model": _model,
        "reset": _reset,
        "silence": _silence,
        "denial": _denial,
        "trace": _trace,
    }
)
