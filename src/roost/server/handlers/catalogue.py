"""What there is to run with: agents, models, commands, and the configuration they come from."""

from types import MappingProxyType

from roost.core import thinking
from roost.core.commands import COMMANDS as CHAT_COMMANDS
from roost.core.commands import Command, Family
from roost.core.errors import NotFound
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.models import ModelSpec
from roost.core.redaction import redact
from roost.engine.rules import KnownAgent
from roost.protocol.families import agents, chat
from roost.protocol.params import NoParams
from roost.server.calls import Call

_CATEGORIES = MappingProxyType(
    {
        Family.SEEING: "status",
        Family.CONVERSATION: "session",
        Family.SETTINGS: "options",
        Family.CHILDREN: "management",
        Family.OWNER: "management",
    }
)


def defaults(call: Call, agent: str | None = None) -> JsonObject:
    """What a session of an agent, or of the default one, is run with where it has no settings of its own."""
    spec = _default_spec(call, agent)
    if spec is None:
        return {"modelProvider": None, "model": None, "contextTokens": None}
    levels: list[JsonValue] = [{"id": str(level), "label": str(level)} for level in thinking.levels(spec)]
    return {
        "modelProvider": spec.ref.provider,
        "model": spec.ref.model,
        "contextTokens": spec.context_window,
        "thinkingLevels": levels,
        "thinkingOptions": [str(level) for level in thinking.levels(spec)],
    }


def _default_spec(call: Call, agent: str | None) -> ModelSpec | None:
    """The default agent is shown first."""
    rules = call.house.engine.rules
    found = next((one for one in rules.house.shown.agents if not agent or one.id == agent), None)
    try:
        return None if found is None else rules.commands.models.find(found.model)
    except NotFound:
        return None


def agent_rows(call: Call) -> dict[str, JsonValue]:
    rules = call.house.engine.rules
    rows: list[JsonValue] = [_agent(agent) for agent in rules.house.shown.agents]
    return {
        "defaultId": rules.routing.default_agent,
        "mainKey": rules.routing.main_name,
        "scope": str(rules.routing.scope),
        "agents": rows,
    }


def _agent(agent: KnownAgent) -> JsonObject:
    named: dict[str, JsonValue] = {"name": agent.name, "workspace": agent.workspace}
    return {
        "id": agent.id,
        "model": {"primary": agent.model, "fallbacks": list(agent.fallbacks)},
        **{name: value for name, value in named.items() if value},
    }


def model_rows(call: Call, provider: str | None = None) -> list[JsonObject]:
    specs = call.house.engine.rules.commands.models.specs()
    return [_model(spec) for spec in specs if provider in (None, spec.ref.provider)]


def _model(spec: ModelSpec) -> JsonObject:
    return {
        "id": spec.ref.model,
        "name": spec.ref.model,
        "provider": spec.ref.provider,
        "contextWindow": spec.context_window,
        "reasoning": spec.reasoning,
        "input": ["text", "image"] if spec.images else ["text"],
        "tags": [],
        "available": True,
    }


def command_rows() -> list[JsonObject]:
    return [_command(command) for command in CHAT_COMMANDS]


def _command(command: Command) -> JsonObject:
    return {
        "name": str(command.name),
        "textAliases": [f"/{name}" for name in (command.name, *command.aliases)],
        "description": command.summary,
        "category": _CATEGORIES[command.family],
        "source": "native",
        "scope": "text",
        "acceptsArgs": bool(command.arguments),
    }


async def list_agents(call: Call, params: NoParams) -> dict[str, JsonValue]:
    return agent_rows(call)


async def list_models(call: Call, params: agents.ModelsParams) -> agents.Models:
    return agents.Models(models=model_rows(call, params.provider))


async def list_commands(call: Call, params: agents.CommandsParams) -> agents.Commands:
    return agents.Commands(commands=[] if params.scope == "native" else command_rows())


async def metadata(call: Call, params: chat.MetadataParams) -> chat.Metadata:
    return chat.Metadata(models=model_rows(call), commands=command_rows())


async def identity(call: Call, params: agents.IdentityParams) -> dict[str, JsonValue]:
    house = call.house
    wanted = params.agent_id or house.engine.rules.routing.default_agent
    if params.session_key:
        wanted = house.key(params.session_key, params.agent_id).agent or wanted
    agent = next((one for one in house.engine.rules.house.shown.agents if one.id == wanted), None)
    if agent is None:
        raise NotFound(f"unknown agent id {wanted!r}")
    return {"agentId": agent.id, "name": agent.name or agent.id}


async def config(call: Call, params: NoParams) -> dict[str, JsonValue]:
    """The one in force; `issues` are of the file, where that says something else that was refused."""
    engine, scanner = call.house.engine, call.house.scanner
    shown = engine.rules.house.shown
    issues: list[JsonValue] = [
        {"path": one.path, "message": redact(one.message, scanner)[0]} for one in engine.config_issues
    ]
    return {
        "path": shown.path,
        "exists": shown.exists,
        "raw": None,
        "parsed": shown.document,
        "config": shown.document,
        "hash": shown.fingerprint,
        "valid": not issues,
        "issues": issues,
    }
