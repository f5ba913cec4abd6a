"""Which function carries out which command."""

from collections.abc import Mapping
from types import MappingProxyType

from roost.core.commands import Name
from roost.engine.commands import (
    children,
    context,
    control,
    explain,
    export,
    lists,
    settings,
    spending,
    status,
    threads,
)
from roost.engine.commands.asked import Handler

HANDLERS: Mapping[Name, Handler] = MappingProxyType(
    {
        Name.HELP: lists.show_help,
        Name.COMMANDS: lists.show_commands,
        Name.STATUS: status.status,
        Name.WHOAMI: lists.whoami,
        Name.EXPLAIN: explain.explain,
        Name.CONTEXT: context.show_context,
        Name.TOOLS: lists.show_tools,
        Name.USAGE: spending.usage,
        Name.NEW: control.fresh,
        Name.RESET: control.fresh,
        Name.BACK: control.back,
        Name.STOP: control.stop,
        Name.STEER: control.steer,
        Name.COMPACT: control.compact,
        Name.MODEL: settings.model,
        Name.THINK: settings.think,
        Name.REASONING: settings.reasoning,
        Name.VERBOSE: settings.verbose,
        Name.QUEUE: settings.queue,
        Name.NAME: settings.name,
        Name.SEND: settings.send,
        Name.ACTIVATION: settings.activation,
        Name.SUBAGENTS: children.subagents,
        Name.AGENTS: lists.show_agents,
        Name.SESSION: threads.session,
        Name.EXPORT: export.export,
    }
)
