"""`/status`: one card about a session."""

from roost.core import queuesettings
from roost.core.errors import RoostError
from roost.core.figures import age, counted, dollars, duration, moment, thousands
from roost.core.inbound import InputMode
from roost.core.ledger import LedgerTotal
from roost.core.queries import LedgerQuery
from roost.core.runs import Run, StepKind
from roost.core.sessions import Session
from roost.core.trees import Tree
from roost.engine.commands.asked import Answer, Asked, Means, Said
from roost.engine.commands.settings import SENDING_SHOWN


async def status(means: Means, asked: Asked) -> Answer:
    spent = await means.store.usage(LedgerQuery(key=asked.key))
    below = await means.store.usage(LedgerQuery(tree_of=asked.key))
    model = _model(means, asked)

    def answer(tree: Tree) -> Said:
        session = tree.session.session or asked.session
        lines = (
            _gateway(means, asked),
            _session(session, asked.at, goes_on=_goes_on(tree)),
            model,
            _context(session, goes_on=_goes_on(tree)),
            _tokens(spent, below),
            _settings(session),
            _queue(means, asked, tree, session),
            _work(tree, asked.at),
        )
        return Said(text="\n".join(lines))

    return answer


def _gateway(means: Means, asked: Asked) -> str:
    name, now = f"Roost {means.rules.commands.version}".strip(), asked.at
    line = f"{name} · reachable, up {duration(now - means.started_at)} · {moment(now, means.rules.zone)}"
    renewed = means.abilities(asked.reply_to).credential_at if asked.reply_to else None
    return line if renewed is None else f"{line} · channel credential renewed {age(now - renewed)}"


def _goes_on(tree: Tree) -> bool:
    """Whether the conversation began as another had ended."""
    generation = tree.session.generation
    return generation is not None and generation.base is not None


def _session(session: Session, now: int, *, goes_on: bool) -> str:
    named = session.labels.label or session.labels.display_name
    called = f" ({named})" if named else ""
    entries = counted(session.summary.entries, "entry", "entries")
    more = " after those that it goes on from" if goes_on else ""
    return f"Session: {session.key}{called}, {entries}{more}, updated {age(now - session.times.updated)}"


def _model(means: Means, asked: Asked) -> str:
    try:
        part = means.part(asked)
    except RoostError as error:
        return f"Model: none can answer, {error}"
    return f"Model: {part.spec.ref} ({part.reason}), window {thousands(part.spec.context_window)}"


def _context(session: Session, *, goes_on: bool) -> str:
    counters = session.counters
    if goes_on and not counters.total:
        return "Context: that of the conversation it goes on from, counted with the next answer"
    if not counters.context_window:
        return f"Context: {thousands(counters.total)} tokens, {counted(counters.compactions, 'compaction')}"
    share = 100 * counters.total // counters.context_window
    used = f"{thousands(counters.total)} of {thousands(counters.context_window)} tokens ({share}%)"
    return f"Context: {used}, {counted(counters.compactions, 'compaction')}"


def _tokens(spent: LedgerTotal, below: LedgerTotal) -> str:
    own = spent.usage
    line = f"Tokens: {thousands(own.input)} in, {thousands(own.output)} out, {dollars(own.cost_micros)}"
    line += f" in {counted(spent.calls, 'model call')}"
    more = below.calls - spent.calls
    return f"{line}; sub-agents {counted(more, 'model call')}" if more else line


def _settings(session: Session) -> str:
    own = session.overrides
    parts = (
        f"think {own.thinking or 'default'}",
        f"verbose {own.verbose or 'off'}",
        f"reasoning {own.reasoning or 'off'}",
        f"usage {own.usage or 'off'}",
        f"sending {SENDING_SHOWN[own.send_policy]}",
        *((f"activation {own.activation}",) if own.activation else ()),
    )
    return f"Settings: {', '.join(parts)}"


def _queue(means: Means, asked: Asked, tree: Tree, session: Session) -> str:
    channel = asked.arrival.inbound.source.channel
    settings = queuesettings.resolve(means.rules.queue, session.overrides, channel)
    running = tree.session.running.id if tree.session.running else None
    opening = (running, InputMode.OPEN)
    pending = [one for one in tree.session.pending if (one.run_id, one.mode) != opening]
    waiting = counted(len(pending), "message")
    return f"Queue: {settings.mode}, {waiting} waiting, at most {settings.cap}"


def _work(tree: Tree, now: int) -> str:
    running = tree.session.running
    parts = [_run(running, now)] if running else []
    if tree.session.queued:
        parts.append(f"{counted(len(tree.session.queued), 'run')} queued")
    children = {run.run.key for run in tree.runs if run.run.key != tree.session.key}
    if children:
        parts.append(f"{counted(len(children), 'sub-agent')} at work")
    exchanges = {run.run.request.exchange_id for run in tree.runs} - {None}
    if exchanges:
        parts.append(f"{counted(len(exchanges), 'exchange')} with other sessions")
    return f"Work: {', '.join(parts) or 'nothing is running'}"


def _run(run: Run, now: int) -> str:
    step = run.progress.step
    doing = ""
    if step is not None and not step.done:
        doing = ", asking the model" if step.kind is StepKind.MODEL else f", in tool {step.tool}"
    stopping = ", being stopped" if run.stop else ""
    since = duration(now - (run.started_at or run.queued_at))
    return f"a {run.request.kind} for {since}{doing}{stopping}"
