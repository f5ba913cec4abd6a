"""The whole configuration as one frozen value."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from roost.config.agents import Agents
from roost.config.amounts import SpellingError
from roost.config.automation import Cron, Hooks, Recovery
from roost.config.budgets import Budgets
from roost.config.channels import Binding, Channel
from roost.config.frozen import FrozenMap
from roost.config.gateway import Gateway
from roost.config.logs import Logging
from roost.config.messages import Commands, Messages
from roost.config.problems import nearest
from roost.config.providers import Models
from roost.config.secretfields import Credential
from roost.config.section import Loc, Section, Takes, about
from roost.config.session import Session
from roost.config.spelling import ChannelName, one_of
from roost.config.tools import Tools
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.secrets import Secret


def _database(url: Secret | None) -> Secret | None:
    if url is not None and not url.reveal().startswith(("postgresql://", "postgres://")):
        raise SpellingError("it must begin with postgresql://; leave it out for the embedded store")
    return url


class Settings(Section):
    gateway: Annotated[Gateway, about("Where the gateway listens and who may connect.")] = Gateway()
    database: Annotated[
        Credential | None,
        AfterValidator(_database),
        about(
            "`postgresql://…`, for several gateways on one server. Unset: the embedded store in `ROOST_HOME`.",
            Takes.RESTART,
        ),
    ] = None
    session: Annotated[Session, about("Conversations: who shares one, when it starts afresh.")] = Session()
    tools: Annotated[Tools, about("What agents may use.", Takes.AT_ONCE)] = Tools()
    agents: Annotated[Agents, about("The agents.")] = Field(default_factory=lambda: Agents.model_validate({}))
    bindings: Annotated[
        tuple[Binding, ...], about("Which agent answers whom; the most exact match wins.", Takes.AT_ONCE)
    ] = ()
    models: Annotated[Models, about("Model providers.")] = Models()
    budgets: Annotated[Budgets, about("How much may be spent on models.")] = Budgets()
    messages: Annotated[Messages, about("Queueing and joining of messages.")] = Messages()
    commands: Annotated[Commands, about("Chat commands.", Takes.AT_ONCE)] = Commands()
    channels: Annotated[FrozenMap[ChannelName, Channel], about("Who is let in, by channel.")] = FrozenMap()
    cron: Annotated[Cron, about("Timed jobs.")] = Cron()
    hooks: Annotated[Hooks, about("Webhooks.", Takes.AT_ONCE)] = Hooks()
    recovery: Annotated[Recovery, about("What happens to unfinished runs after a crash.")] = Recovery()

    logging: Annotated[Logging, about("What the gateway writes down of its work.", Takes.RESTART)] = Logging()

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        known = [agent.id for agent in self.agents.list]
        for index, binding in enumerate(self.bindings):
            if binding.agent_id not in known:
                close = nearest(binding.agent_id, known)
                guess = f"did you mean `{close}`?" if close else f"there is {one_of(known)}"
                yield ("bindings", index, "agentId"), f"there is no agent `{binding.agent_id}`; {guess}"


def as_document(settings: Settings) -> JsonObject:
    """The settings as a plain document that loads to the same settings; credentials are masked."""
    return {
        name: _without_nulls(value)
        for name, value in settings.model_dump(mode="json").items()
        if value is not None
    }


def _without_nulls(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {name: _without_nulls(item) for name, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value
