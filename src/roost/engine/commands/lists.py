"""`/help`, `/commands`, `/whoami`, `/agents` and `/tools`: what there is, and who asks."""

from roost.core.commands import COMMANDS, Command, Family, find
from roost.core.errors import InvalidInput
from roost.engine.commands.asked import Answer, Asked, Means, saying


async def show_help(means: Means, asked: Asked) -> Answer:
    command = find(asked.argument) if asked.argument else None
    if command is not None:
        return saying(_help_on(command))
    shown = "\n".join(_short(family) for family in Family)
    return saying(f"{shown}\n/help <command> says more, /commands shows arguments.")


async def show_commands(means: Means, asked: Asked) -> Answer:
    blocks = []
    for family in Family:
        lines = (f"{one.usage} — {one.summary}" for one in COMMANDS if one.family is family)
        blocks.append("\n".join((f"{family}", *lines)))
    return saying("\n\n".join(blocks))


def _short(family: Family) -> str:
    names = " ".join(f"/{one.name}" for one in COMMANDS if one.family is family)
    return f"{family}: {names}"


def _help_on(command: Command) -> str:
    lines = [command.usage, f"{command.summary[0].upper()}{command.summary[1:]}."]
    if command.aliases:
        lines.append("Also: " + ", ".join(f"/{alias}" for alias in command.aliases))
    if command.owner:
        lines.append("For the owner only.")
    return "\n".join(lines)


async def whoami(means: Means, asked: Asked) -> Answer:
    speaker = asked.speaker
    role = "the owner of this gateway" if speaker.principal.is_owner else f"{speaker.principal}"
    lines = (
        f"You are {role}.",
        f"Channel: {speaker.identity.channel}, your id there: {speaker.identity.id}",
        f"Let in by: {speaker.rule}",
        f"Session: {asked.key}",
    )
    return saying("\n".join(lines))


async def show_agents(means: Means, asked: Asked) -> Answer:
    """Others than the owner see the agent they talk to."""
    own = asked.key.agent
    every = means.rules.commands.agents if asked.speaker.principal.is_owner else ()
    names = dict.fromkeys((own, *sorted(every)))
    lines = [f"{name} (answers here)" if name == own else name for name in names]
    bound = await means.thread(asked)
    if bound is not None:
        lines.append(f"This thread is bound to {bound.key}; /session shows the binding.")
    return saying("Agents:\n" + "\n".join(lines))


async def show_tools(means: Means, asked: Asked) -> Answer:
    if asked.argument.lower() not in ("", "compact", "verbose"):
        raise InvalidInput(f"/tools knows no {asked.argument!r}", hint="say compact or verbose")
    part = means.part(asked)
    verbose = asked.argument.lower() == "verbose"
    lines = [
        f"{tool.spec.name}: {tool.spec.description}" if verbose else tool.spec.name
        for tool in sorted(part.tools, key=lambda tool: tool.spec.name)
    ]
    head = f"Tools of this session ({len(part.tools)}):"
    shown = "\n".join((head, *lines)) if verbose else f"{head} {', '.join(lines) or 'none'}"
    gone = ", ".join(f"{one.name} (by {one.stage})" for one in part.removed)
    return saying(f"{shown}\nRemoved: {gone}" if gone else shown)
