"""`agents`: the configured personas and what they share.

`list` and the map `entries` say the same in two ways. What the settings hold afterwards is one `list` in which
every agent has its own values filled up from `defaults`, and exactly one is the default agent.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from roost.config.amounts import Duration
from roost.config.context import Compaction, ContextPruning
from roost.config.frozen import FrozenMap
from roost.config.sandbox import Sandbox
from roost.config.section import Loc, Section, Takes, about, over
from roost.config.spelling import (
    AgentId,
    AgentName,
    ClockTime,
    Count,
    Flag,
    Positive,
    Span,
    Text,
    Texts,
    ZoneName,
    whole,
)
from roost.config.tools import ToolRules
from roost.core.thinking import ThinkingLevel

FALLBACK_AGENT = "main"


class DelegationMode(StrEnum):
    SUGGEST = "suggest"
    PREFER = "prefer"


class ModelChoice(Section):
    primary: Annotated[
        Text | None, about("Model to use, `provider/model` or an alias. Unset: the demo model.")
    ] = None
    fallbacks: Annotated[Texts, about("Models for one turn when the primary fails, in order.")] = ()


def _model_choice(found: object) -> object:
    return {"primary": found} if isinstance(found, str) else found


class KnownModel(Section):
    alias: Annotated[Text | None, about("Short name of the model.")] = None


class Subagents(Section):
    max_concurrent: Annotated[Positive, about("Children that run at once in each gateway.")] = 8
    max_spawn_depth: Annotated[int, whole(1, 5), about("Levels of children; 1: children spawn none.")] = 1
    max_children_per_agent: Annotated[int, whole(1, 20), about("Active children of one session.")] = 5
    archive_after_minutes: Annotated[
        Count, about("Minutes after its end until a child is archived; 0: never.")
    ] = 60
    run_timeout_seconds: Annotated[
        Count, about("Limit of a child's task, also while it waits for children of its own; 0: none.")
    ] = 0
    announce_timeout_ms: Annotated[Positive, about("Limit of one attempt to announce a result.")] = 120_000
    model: Annotated[
        ModelChoice | None, BeforeValidator(_model_choice), about("Model of children. Unset: the caller's.")
    ] = None
    thinking: Annotated[ThinkingLevel | None, about("Thinking level of children. Unset: the model's.")] = None
    allow_agents: Annotated[
        Texts | None,
        about("Agents that may be named in a spawn, `*` for all. Unset: the caller only.", Takes.AT_ONCE),
    ] = None
    require_agent_id: Annotated[Flag, about("Whether a spawn must name its agent.")] = False
    delegation_mode: Annotated[DelegationMode, about("Changes nothing: no prompt speaks for delegating.")] = (
        DelegationMode.SUGGEST
    )


class ActiveHours(Section):
    start: Annotated[ClockTime, about("First minute.")] = "00:00"
    end: Annotated[ClockTime, about("End, not included.")] = "24:00"
    timezone: Annotated[ZoneName | None, about("Time zone name. Unset: that of the user.")] = None


class Heartbeat(Section):
    every: Annotated[Span, about("Time between two look-arounds; `0m`: none.")] = Duration.parse("30m")
    session: Annotated[Text, about("Session it looks after.")] = "main"
    target: Annotated[Text, about("Where it posts: `last`, `none` or a channel.")] = "last"
    isolated_session: Annotated[
        Flag, about("It always runs beside the session; `false` is accepted and changes nothing.")
    ] = True
    prompt: Annotated[Text | None, about("What it is asked. Unset: the built-in text.")] = None
    model: Annotated[Text | None, about("Model it uses. Unset: the agent's.")] = None
    ack_max_chars: Annotated[Count, about("Characters after `HEARTBEAT_OK` that still count as silence.")] = (
        300
    )
    active_hours: Annotated[ActiveHours | None, about("Hours in which it runs. Unset: all.")] = None
    pause_after: Annotated[Span, about("It rests while nobody has spoken in the session for so long.")] = (
        Duration.parse("3d")
    )


class AgentDefaults(Section):
    model: Annotated[ModelChoice, BeforeValidator(_model_choice), about("Model, as text or object.")] = (
        ModelChoice()
    )
    models: Annotated[
        FrozenMap[Text, KnownModel] | None,
        about("Models that may be chosen, `provider/model`, with their aliases. Unset: any."),
    ] = None
    workspace: Annotated[
        Text | None,
        about(
            "Folder of the agents' files, which may not hold the gateway's own: `ROOST_HOME`, this file, the store, "
            "a file with a credential. Unset: one per agent in `ROOST_HOME`."
        ),
    ] = None
    bootstrap_max_chars: Annotated[
        Count, about("Characters of one workspace file (`AGENTS.md`, `MEMORY.md` …) in the system text.")
    ] = 20_000
    bootstrap_total_max_chars: Annotated[
        Count, about("Characters of all of them; at most one for every two tokens of the model's window.")
    ] = 150_000
    user_timezone: Annotated[
        ZoneName | None,
        about("Time zone of days: resets, notes. Unset: the one that `TZ` names, else the host's."),
    ] = None
    max_concurrent: Annotated[
        Positive | None, about("Runs at once in each gateway. Unset: 4 per core, at least 8.")
    ] = None
    timeout_seconds: Annotated[Positive, about("Limit of one run.")] = 172_800
    sandbox: Annotated[Sandbox, about("Confinement of tools.", Takes.AT_ONCE)] = Sandbox()
    subagents: Annotated[Subagents, about("Children.")] = Subagents()
    heartbeat: Annotated[Heartbeat, about("The scheduled look-around.")] = Heartbeat()
    context_pruning: Annotated[ContextPruning, about("Leaving old tool results out of prompts.")] = (
        ContextPruning()
    )
    compaction: Annotated[Compaction, about("Summarising older turns.")] = Compaction()


class AgentEntry(Section):
    default: Annotated[
        Flag, about("Whether unrouted messages go to it; at most one. None: `main`, or the first.")
    ] = False
    name: Annotated[Text | None, about("Name to show.")] = None
    workspace: Annotated[Text | None, about("Folder of its files, over `agents.defaults`.")] = None
    model: Annotated[ModelChoice, BeforeValidator(_model_choice), about("Model, over `agents.defaults`.")] = (
        ModelChoice()
    )
    subagents: Annotated[Subagents, about("Children, over `agents.defaults`.")] = Subagents()
    tools: Annotated[ToolRules, about("Its own stage of the tool policy.", Takes.AT_ONCE)] = ToolRules()
    sandbox: Annotated[Sandbox, about("Confinement, over `agents.defaults`.", Takes.AT_ONCE)] = Sandbox()
    heartbeat: Annotated[Heartbeat, about("The look-around, over `agents.defaults`.")] = Heartbeat()

    def named(self, name: str) -> "Agent":
        """The agent that this entry of the map describes."""
        given = {field: getattr(self, field) for field in type(self).model_fields}
        return Agent.model_construct(_fields_set=self.model_fields_set | {"id"}, id=name, **given)

    def filled(self, defaults: AgentDefaults) -> Self:
        """This entry with what it leaves open taken from the defaults."""
        return self.model_copy(
            update={
                "workspace": self.workspace or defaults.workspace,
                "model": over(defaults.model, self.model),
                "subagents": over(defaults.subagents, self.subagents),
                "sandbox": over(defaults.sandbox, self.sandbox),
                "heartbeat": over(defaults.heartbeat, self.heartbeat),
            }
        )


class Agent(AgentEntry):
    id: Annotated[AgentId, about("Its id.")]


class Agents(Section):
    defaults: Annotated[AgentDefaults, about("What every agent has unless it says otherwise.")] = (
        AgentDefaults()
    )
    list: Annotated[tuple[Agent, ...], about("The agents. Empty: one, named `main`.")] = ()
    entries: Annotated[
        FrozenMap[AgentName, AgentEntry], about("The agents as a map by id, in place of or besides `list`.")
    ] = FrozenMap()

    @property
    def default(self) -> Agent:
        return next(agent for agent in self.list if agent.default)

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        given: list[tuple[Loc, str, AgentEntry]] = [
            *((("list", index), agent.id, agent) for index, agent in enumerate(self.list)),
            *((("entries", name), name, entry) for name, entry in self.entries.items()),
        ]
        ids: set[str] = set()
        default: str | None = None
        for loc, name, agent in given:
            if name in ids:
                yield (*loc, "id") if loc[0] == "list" else loc, f"there is already an agent `{name}`"
            ids.add(name)
            if agent.default and default is not None:
                yield (*loc, "default"), f"`{default}` is already the default agent"
            default = default or (name if agent.default else None)

    @model_validator(mode="after")
    def _settle(self) -> Self:
        named = (entry.named(name) for name, entry in self.entries.items())
        agents = [agent.filled(self.defaults) for agent in (*self.list, *named)]
        agents = agents or [Agent.model_validate({"id": FALLBACK_AGENT}).filled(self.defaults)]
        return self.model_copy(update={"list": _one_default(agents), "entries": FrozenMap()})


def _one_default(agents: Sequence[Agent]) -> tuple[Agent, ...]:
    if any(agent.default for agent in agents):
        return tuple(agents)
    chosen = next((agent for agent in agents if agent.id == FALLBACK_AGENT), agents[0])
    return tuple(agent.model_copy(update={"default": agent is chosen}) for agent in agents)
