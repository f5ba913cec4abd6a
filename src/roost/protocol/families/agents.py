"""Agents: running one, waiting for it, and what there is to run with."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.method import Method
from roost.protocol.params import (
    AgentId,
    Count,
    Name,
    NoParams,
    Params,
    Place,
    SessionName,
    SessionOrNot,
    Short,
    Words,
)
from roost.protocol.scopes import Scope

LONGEST_INSTRUCTIONS = 32_000


Instructions = Annotated[str, Field(min_length=1, max_length=LONGEST_INSTRUCTIONS)]


class Recipient(Params):
    """A place on a channel."""

    to: Place | None = None
    channel: Short | None = None
    account_id: Name | None = None
    thread_id: Name | None = None


class AgentParams(Recipient):
    """`timeout` in seconds; 0 is none. `to` names the session of a place on a channel, as `send` does, and with `deliver` the
    answer goes there, or to the chat the session was last met in; `result.deliveryStatus` then says what became of it (`status` is
    `sent`, `failed`, `uncertain`, `suppressed`, `pending`, `no-route`, `silent` or `unknown`). `extraSystemPrompt` stands below the system text of this run. Both are the gateway owner's.
    `label` and `lane` change nothing."""

    message: Words
    idempotency_key: Name
    session_key: SessionOrNot | None = None
    session_id: Short | None = None
    agent_id: AgentId | None = None
    provider: Short | None = None
    model: Short | None = None
    thinking: Short | None = None
    deliver: bool = False
    best_effort_deliver: bool = False
    timeout: Count = 0
    extra_system_prompt: Instructions | None = None
    lane: Short | None = None
    label: Name | None = None


class WaitParams(Params):
    """The same `runId` may name messages to several sessions: `sessionKey` says which is meant, otherwise it is the newest."""

    run_id: Name
    session_key: SessionName | None = None
    agent_id: AgentId | None = None
    timeout_ms: Count = 30_000


class IdentityParams(Params):
    agent_id: AgentId | None = None
    session_key: SessionOrNot | None = None


class ModelsParams(Params):
    """Those of one `provider`, or all. What is told of each is known without being asked for: the rest changes nothing."""

    view: Literal["default", "configured", "provider-config", "all"] = "default"
    agent_id: AgentId | None = None
    session_key: SessionName | None = None
    provider: Name | None = None
    include_details: bool = False
    include_provider_capabilities: bool = False
    include_default_models: bool = False
    prepared_only: bool = False
    refresh: bool = False


class Models(TypedDict):
    models: list[JsonObject]


class CommandsParams(Params):
    """All commands are `text`, on every channel and in every session: of the rest only `scope` changes anything."""

    session_key: SessionName | None = None
    agent_id: AgentId | None = None
    provider: Name | None = None
    scope: Literal["text", "native", "both"] = "both"
    include_args: bool = False


class Commands(TypedDict):
    commands: list[JsonObject]


def agent_scope(params: AgentParams) -> Scope:
    """`operator.write`; `operator.admin` to name a model or provider, or with `extraSystemPrompt`."""
    overrides = params.model or params.provider or params.extra_system_prompt
    return Scope.ADMIN if overrides else Scope.WRITE


AGENT = Method(
    name="agent",
    about="Runs an agent. Answered when the run is taken on, and again when it has ended. A message that is a chat command is refused: it begins no run.",
    params=AgentParams,
    result=dict[str, JsonValue],
    needs=agent_scope,
)
WAIT = Method(
    name="agent.wait",
    about="How a run ended, or `timeout`; a run that nobody knows has not ended. One that was stopped is a `timeout` with a `stopReason`.",
    params=WaitParams,
    result=dict[str, JsonValue],
    needs=Scope.WRITE,
)
IDENTITY = Method(
    name="agent.identity.get",
    about="The name of an agent.",
    params=IdentityParams,
    result=dict[str, JsonValue],
    needs=Scope.READ,
)
AGENTS = Method(
    name="agents.list",
    about="The agents there are.",
    params=NoParams,
    result=dict[str, JsonValue],
    needs=Scope.READ,
)
MODELS = Method(
    name="models.list",
    about="The models there are.",
    params=ModelsParams,
    result=Models,
    needs=Scope.READ,
)
COMMANDS = Method(
    name="commands.list",
    about="The chat commands there are.",
    params=CommandsParams,
    result=Commands,
    needs=Scope.READ,
)
CONFIG = Method(
    name="config.get",
    about="The configuration in force, with secrets masked; `valid` and `issues` are of the file as it is now, which stays out of force while anything in it is wrong.",
    params=NoParams,
    result=dict[str, JsonValue],
    needs=Scope.READ,
    owners=True,
)
