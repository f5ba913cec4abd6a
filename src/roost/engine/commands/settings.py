"""What a person sets on a session. It stays through every reset and holds from the next turn on."""

from dataclasses import replace
from types import MappingProxyType

from roost.core import thinking
from roost.core.addresses import ChatType
from roost.core.effects import ChangeSession
from roost.core.errors import InvalidInput
from roost.core.figures import thousands
from roost.core.footers import Reasoning
from roost.core.labels import namesakes, read_label, refuse_namer, refuse_taken
from roost.core.models import ModelSpec
from roost.core.queuesettings import read_queue, resolve
from roost.core.sessions import Activation, Labels, SendOverride, Verbosity
from roost.core.trees import Tree
from roost.engine.commands.asked import Answer, Asked, Means, Said, overrides_of, saying

DEFAULT = frozenset({"default", "inherit", "reset", "clear"})
SENDING_SHOWN = MappingProxyType({SendOverride.ALLOW: "on", SendOverride.DENY: "off", None: "as configured"})
_SENDING = MappingProxyType(
    {
        "on": SendOverride.ALLOW,
        "allow": SendOverride.ALLOW,
        "off": SendOverride.DENY,
        "deny": SendOverride.DENY,
    }
)


async def model(means: Means, asked: Asked) -> Answer:
    directory = means.rules.commands.models
    match asked.argument.lower():
        case "" | "status":
            part = means.part(asked)
            window = thousands(part.spec.context_window)
            return saying(f"Model: {part.spec.ref} ({part.reason}), window {window}. /model list shows all.")
        case "list":
            lines = sorted(map(_described, directory.specs()), key=str.lower)
            return saying("\n".join(("Models:", *lines)))
        case word if word in DEFAULT:
            return _model_set(asked, None)
        case _:
            return _model_set(asked, str(directory.ask_for(asked.argument).ref))


def _described(spec: ModelSpec) -> str:
    return f"{spec.ref}, window {thousands(spec.context_window)}{', reasons' if spec.reasoning else ''}"


def _model_set(asked: Asked, ref: str | None) -> Answer:
    said = asked.arrival.inbound.reworded(asked.line.message)
    forward = replace(asked.arrival, inbound=said) if said.content else None

    def answer(tree: Tree) -> Said:
        text = (
            f"Model: {ref}, from the next turn on."
            if ref
            else "Model: the agent's own, from the next turn on."
        )
        return Said(text=text, overrides=replace(overrides_of(tree), model=ref), forward=forward)

    return answer


async def think(means: Means, asked: Asked) -> Answer:
    """A level before a message holds for that message only."""
    word, spec = asked.argument.lower(), means.part(asked).spec
    levels = thinking.levels(spec)
    options = f"levels of {spec.ref}: {', '.join((*levels, 'default'))}"
    if not word:
        current = asked.session.overrides.thinking or "the model's default"
        return saying(f"Thinking: {current}; {options}.")
    if word not in DEFAULT and word not in tuple(thinking.ThinkingLevel):
        raise InvalidInput(f"/think knows no {asked.argument!r}", hint=options)
    level = None if word in DEFAULT else word
    known = level is None or level in levels
    said = asked.arrival.inbound.reworded(asked.line.message)
    if said.content:
        request = replace(asked.arrival.request, thinking=level if known else None)
        forward = replace(asked.arrival, inbound=said, request=request)
        text = None if known else f"The model {spec.ref} does not think at level {level}; {options}."
        return lambda tree: Said(text=text, forward=forward)
    if not known:
        raise InvalidInput(f"the model {spec.ref} does not think at level {level}", hint=options)

    def answer(tree: Tree) -> Said:
        shown = level or "the model's default"
        return Said(text=f"Thinking: {shown}.", overrides=replace(overrides_of(tree), thinking=level))

    return answer


async def verbose(means: Means, asked: Asked) -> Answer:
    chosen = _choice(asked, tuple(Verbosity))
    if chosen == "":
        return saying(f"Verbose: {asked.session.overrides.verbose or Verbosity.OFF}.")
    return lambda tree: Said(
        text=f"Verbose: {chosen or Verbosity.OFF}.", overrides=replace(overrides_of(tree), verbose=chosen)
    )


async def reasoning(means: Means, asked: Asked) -> Answer:
    chosen = _choice(asked, tuple(Reasoning))
    if chosen == "":
        return saying(f"Reasoning: {asked.session.overrides.reasoning or Reasoning.OFF}.")
    return lambda tree: Said(
        text=f"Reasoning: {chosen or Reasoning.OFF}.",
        overrides=replace(overrides_of(tree), reasoning=chosen),
    )


async def send(means: Means, asked: Asked) -> Answer:
    word = asked.argument.lower()
    if word not in _SENDING and word not in DEFAULT:
        current = SENDING_SHOWN[asked.session.overrides.send_policy]
        return saying(f"Sending: {current}. Say /send on, /send off or /send inherit.")
    chosen = _SENDING.get(word)
    return lambda tree: Said(
        text=f"Sending: {SENDING_SHOWN[chosen]}.",
        overrides=replace(overrides_of(tree), send_policy=chosen),
    )


async def queue(means: Means, asked: Asked) -> Answer:
    channel, changes = asked.arrival.inbound.source.channel, read_queue(asked.argument)

    def answer(tree: Tree) -> Said:
        changed = changes(overrides_of(tree))
        now = resolve(means.rules.queue, changed, channel)
        text = f"Queue: {now.mode}, debounce {now.debounce_ms} ms, cap {now.cap}, drop {now.drop}."
        return Said(text=text, overrides=changed if asked.argument else None)

    return answer


async def name(means: Means, asked: Asked) -> Answer:
    label = read_label(asked.argument)
    if label is None:
        return saying(f"Name: {asked.session.labels.label or 'none'}.")
    refuse_namer(asked.speaker.caller, asked.session.owner)
    chosen = None if label.lower() in DEFAULT else label
    if chosen is not None:
        page = await means.store.list_sessions(namesakes(chosen, asked.session.owner))
        refuse_taken(chosen, asked.key, page.rows)

    def answer(tree: Tree) -> Said:
        labels = tree.session.session.labels if tree.session.session else Labels()
        changed = ChangeSession(key=asked.key, labels=replace(labels, label=chosen))
        return Said(text=f"Name: {chosen or 'none'}.", effects=(changed,))

    return answer


async def activation(means: Means, asked: Asked) -> Answer:
    if asked.session.facts.chat_type is ChatType.DIRECT:
        raise InvalidInput("a direct chat needs no mention", hint="say it in a group")
    chosen = _choice(asked, tuple(Activation))
    if chosen == "":
        return saying(f"Activation: {asked.session.overrides.activation or 'as configured'}.")
    return lambda tree: Said(
        text=f"Activation: {chosen or 'as configured'}.",
        overrides=replace(overrides_of(tree), activation=chosen),
    )


def _choice(asked: Asked, options: tuple[str, ...]) -> str | None:
    """One of the options, None for the default, "" if nothing was said."""
    word = asked.argument.lower()
    if word in DEFAULT:
        return None
    if word and word not in options:
        shown = ", ".join((*options, "default"))
        raise InvalidInput(f"/{asked.line.command.name} knows no {asked.argument!r}", hint=f"say {shown}")
    return word and next(option for option in options if option == word)
