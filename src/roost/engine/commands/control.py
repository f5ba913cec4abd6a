"""What moves a conversation: stop, steer, compact, start afresh, go back."""

from dataclasses import replace

from roost.core import stopping
from roost.core.errors import InvalidInput, RoostError
from roost.core.figures import counted, moment
from roost.core.messages import ProvenanceKind
from roost.core.notices import derived_id
from roost.core.queuesettings import QueueMode
from roost.core.queuetext import excerpt
from roost.core.references import refuse_unknown
from roost.core.resets import RESET_REASON, Reset, end_begun, open_generation, way_back
from roost.core.runs import Cause, Request, Run, RunKind, RunState, StopRequest
from roost.core.sessions import OpenedBy
from roost.core.stopping import Stopped
from roost.core.trees import Tree
from roost.core.triggers import greeting, take_model
from roost.core.upkeep import compaction_request, condense
from roost.engine.commands.asked import Answer, Asked, Means, Said, overrides_of
from roost.engine.stops import STOPPED

LONGEST_FOCUS = 800


async def stop(means: Means, asked: Asked) -> Answer:
    request = StopRequest(reason=STOPPED, by=asked.speaker.principal, at=asked.at)

    def answer(tree: Tree) -> Said:
        stopped = stopping.stop(tree, request, told=asked.reply_to)
        return Said(
            text=_stop_text(stopped, asked),
            effects=stopped.effects,
            ends=stopped.runs,
            stopped=stopping.named(tree, stopped),
        )

    return answer


def _stop_text(stopped: Stopped, asked: Asked) -> str:
    """The counts, and the words of those who wait here: what others wrote elsewhere is not for this chat."""
    if stopped.nothing:
        return "Nothing was running, and nothing waits."
    queued = f" and {stopped.ended} queued" if stopped.ended else ""
    counts = (
        f"Stopped {counted(len(stopped.runs), 'run')}{queued}.",
        f"Cleared {counted(len(stopped.cleared), 'waiting message')}.",
        f"Stopped {counted(stopped.children, 'sub-agent')}.",
    )
    here = [f"- {excerpt(one)}" for one in stopped.cleared if one.reply_to == asked.reply_to]
    return "\n".join((" ".join(counts), *(("Not answered:", *here) if here else ())))


async def steer(means: Means, asked: Asked) -> Answer:
    said = asked.arrival.inbound.reworded(asked.argument)
    if not said.content:
        raise InvalidInput("there is nothing to say", hint="write /steer <message>")
    return lambda tree: Said(forward=replace(asked.arrival, inbound=said, mode=QueueMode.STEER))


async def compact(means: Means, asked: Asked) -> Answer:
    """A run of its own kind; what to keep goes with it as its prompt. An answer under way is ended for it."""
    refuse_unknown(asked.key.agent, means.rules.commands.agents)
    inbound, focus = asked.arrival.inbound, asked.argument[:LONGEST_FOCUS] or None
    run = Run(
        id=derived_id("compaction", inbound.id),
        key=asked.key,
        state=RunState.QUEUED,
        cause=Cause(principal=inbound.principal, kind=ProvenanceKind.HUMAN, trace=inbound.trace),
        request=compaction_request(focus, asked.reply_to),
        queued_at=asked.at,
        ready_at=asked.at,
    )

    def answer(tree: Tree) -> Said:
        wish = condense(tree.session, run)
        return Said(text=wish.words, effects=wish.effects, ends=wish.ends)

    return answer


async def fresh(means: Means, asked: Asked) -> Answer:
    """`/new` and every other reset word. What follows a model's name is the first message; a lone word is greeted."""
    arrival = asked.arrival
    chosen = take_model(asked.argument, means.rules.commands.models)
    reset = Reset(
        reason=OpenedBy.RESET if asked.line.word == "/reset" else OpenedBy.NEW,
        session_id=arrival.opening.session_id,
        at=asked.at,
        rule=f"trigger {asked.line.word}",
    )
    forward, first = replace(arrival, reset=reset), arrival.inbound.reworded(chosen.rest)
    if first.content:
        forward = replace(forward, inbound=first)
    else:
        prompt = greeting(_unusual(means, asked, chosen.model or asked.session.overrides.model))
        forward = replace(forward, request=Request(kind=RunKind.GREETING, prompt=prompt))

    def answer(tree: Tree) -> Said:
        request = _by_reset(asked)
        below, begun = stopping.stop_below(tree, request), end_begun(tree.session, request)
        overrides = replace(overrides_of(tree), model=chosen.model) if chosen.model else None
        return Said(effects=(*below.effects, *begun), ends=below.runs, forward=forward, overrides=overrides)

    return answer


def _unusual(means: Means, asked: Asked, model: str | None) -> str | None:
    """The model that answers, if without being asked for it would be another."""
    if model is None:
        return None
    unset = asked.session._replace(overrides=replace(asked.session.overrides, model=None))
    try:
        usual = means.rules.cast(unset, means.turn(asked)).spec.ref
    except RoostError:
        return model
    return None if str(usual) == model else model


async def back(means: Means, asked: Asked) -> Answer:
    known = {one.session_id: one for one in await means.store.generations(asked.key)}

    def answer(tree: Tree) -> Said:
        current = tree.session.generation
        left = known.get(current.previous or "") if current else None
        if current is None or left is None:
            raise InvalidInput("there is no earlier conversation to go back to")
        reset = Reset(
            reason=OpenedBy.BACK,
            session_id=asked.arrival.opening.session_id,
            at=asked.at,
            rule="command /back",
            base=way_back(current, left.entries),
        )
        request, running = _by_reset(asked), tree.session.running
        below = stopping.stop_below(tree, request)
        began = moment(left.opened_at, means.rules.zone)
        text = f"Back in the conversation of {began}. /back again returns to the one you left."
        return Said(
            text=text,
            effects=(
                *below.effects,
                *end_begun(tree.session, request),
                *open_generation(tree.session, reset),
            ),
            ends=(*below.runs, *((running.id,) if running else ())),
        )

    return answer


def _by_reset(asked: Asked) -> StopRequest:
    return StopRequest(reason=RESET_REASON, by=asked.speaker.principal, at=asked.at)
