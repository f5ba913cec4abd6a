"""The composition root: the only module that names concrete adapters."""

import os
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import tzinfo
from importlib.util import find_spec
from pathlib import Path

from roost.clock import SystemClock, host_zone
from roost.config import Loaded, Settings, configured_secrets, policies
from roost.config.agents import Agent, SandboxMode
from roost.config.providers import InputKind, ModelApi, ModelDefinition, Provider
from roost.config.secretfields import SecretCommand
from roost.config.tools import ToolScope
from roost.core.admission import ChannelPolicy
from roost.core.errors import ConfigInvalid, NotFound
from roost.core.models import ModelRef, ModelSpec, Prices
from roost.core.redaction import ExactValues
from roost.core.runs import Run, RunKind
from roost.core.scheduling import Limits
from roost.core.secrets import Secret
from roost.core.sessions import Session
from roost.core.systemtext import system_text
from roost.core.toolpolicy import Scope, ToolPolicy, effective_tools
from roost.core.tools import Place, WorkspaceAccess
from roost.core.workspacefiles import file_names, notes_file
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules, Voice
from roost.models.demo import SPEC as DEMO
from roost.models.demo import DemoModel
from roost.models.openai import Endpoint, OpenAIModel
from roost.models.registry import Registry
from roost.models.retry import RetryingModel
from roost.ports import Channel, Clock, Model, SecretScanner, Store, Tool
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.scanners.stdlib import StdlibScanner
from roost.stores.sqlite import SqliteStore
from roost.tools.bootstrap import workspace_files
from roost.tools.edit import Edit
from roost.tools.exec import Exec
from roost.tools.list_files import ListFiles
from roost.tools.notes import Notes
from roost.tools.read import Read
from roost.tools.write import Write

CONTEXT_WINDOW, MAX_TOKENS = 128_000, 8_192
CEILING = 64


def database_file(home: Path) -> Path:
    """Where the embedded store lives."""
    return home / "roost.db"


@asynccontextmanager
async def open_store(loaded: Loaded, clock: Clock | None = None) -> AsyncIterator[Store]:
    """The store that the configuration names."""
    if loaded.settings.database is not None:
        raise ConfigInvalid(
            "`database` names a PostgreSQL server, and this Roost has only the embedded store",
            hint="leave `database` out",
        )
    store = SqliteStore.open(database_file(loaded.sources.home), clock or SystemClock())
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_engine(
    loaded: Loaded, channels: Sequence[Channel], doors: Mapping[str, ChannelPolicy]
) -> AsyncIterator[Engine]:
    """An engine over the configured store and models; `doors` are those of channels the file does not name."""
    clock = SystemClock()
    async with open_store(loaded, clock) as store, _open_models(loaded.settings, clock) as registry:
        rules = _rules(loaded, registry, doors)
        yield Engine(store, clock, FreshIds(clock), rules, channels, jitter=random.random)


def secret_scanner(loaded: Loaded) -> SecretScanner:
    """What finds credentials: the configured ones as they are, others by their form."""
    known = configured_secrets(loaded.settings).values()
    return ExactValues((secret.reveal() for secret in known), _by_form())


def _by_form() -> SecretScanner:
    if find_spec("re2") is None:
        return StdlibScanner()
    from roost.scanners.re2 import Re2Scanner  # noqa: PLC0415 — has no wheel for every platform

    return Re2Scanner()


# -- models ------------------------------------------------------------------------------------------


@asynccontextmanager
async def _open_models(settings: Settings, clock: Clock) -> AsyncIterator[Registry]:
    models: dict[str, Model] = {DEMO.ref.provider: DemoModel(clock)}
    specs = [DEMO]
    async with AsyncExitStack() as stack:
        for name, provider in settings.models.providers.items():
            adapter = OpenAIModel(_endpoint(name, provider), clock)
            stack.push_async_callback(adapter.aclose)
            models[name] = RetryingModel(adapter, clock)
            specs += [_spec(name, provider, model) for model in provider.models]
        yield Registry(models, specs)


def _endpoint(name: str, provider: Provider) -> Endpoint:
    if provider.api is not ModelApi.OPENAI_COMPLETIONS or provider.base_url is None:
        raise ConfigInvalid(
            f"models.providers.{name} cannot be reached by this Roost",
            hint="it speaks `openai-completions` to a `baseUrl`",
        )
    headers = {header: _known(name, secret) for header, secret in provider.headers.items()}
    key = None if provider.api_key is None else _known(name, provider.api_key)
    return Endpoint(provider=name, base_url=provider.base_url, key=key, headers=headers)


def _known(name: str, secret: Secret | SecretCommand) -> Secret:
    if isinstance(secret, SecretCommand):
        raise ConfigInvalid(
            f"models.providers.{name} has a credential that a command prints, which is not supported yet",
            hint="give it as a text, `{env: …}` or `{file: …}`",
        )
    return secret


def _spec(name: str, provider: Provider, model: ModelDefinition) -> ModelSpec:
    cost = model.cost
    return ModelSpec(
        ref=ModelRef(name, model.id),
        context_window=model.context_window or provider.context_window or CONTEXT_WINDOW,
        max_tokens=model.max_tokens or provider.max_tokens or MAX_TOKENS,
        prices=None
        if cost is None
        else Prices(
            input=cost.input, output=cost.output, cache_read=cost.cache_read, cache_write=cost.cache_write
        ),
        reasoning=model.reasoning,
        images=InputKind.IMAGE in model.input,
    )


# -- rules -------------------------------------------------------------------------------------------


def _rules(loaded: Loaded, registry: Registry, doors: Mapping[str, ChannelPolicy]) -> Rules:
    settings = loaded.settings
    configured = {channel: policies.channel_policy(settings, channel) for channel in settings.channels}
    lanes = policies.lane_limits(settings, os.cpu_count() or 1)
    zone = policies.user_zone(settings) or host_zone()
    return Rules(
        cast=lambda session, run: _cast(loaded, registry, zone, session, run),
        doors={**doors, **configured},
        routing=policies.routing_rules(settings),
        queue=policies.queue_policy(settings),
        resets=policies.reset_policy(settings),
        triggers=policies.extra_triggers(settings),
        sending=policies.send_policy(settings),
        zone=zone,
        limits=Limits(ceiling=CEILING, lanes=lanes),
    )


def _cast(loaded: Loaded, registry: Registry, zone: tzinfo, session: Session, run: Run) -> Part:
    agent = next((one for one in loaded.settings.agents.list if one.id == run.key.agent), None)
    if agent is None:
        raise NotFound(f"there is no agent {run.key.agent}", hint="add it to `agents.list`")
    name, reason = _model_for(agent, session, run)
    resolved = registry.resolve(name)
    settings = loaded.settings
    place = _place(loaded, agent, session)
    tools = _tools_for(run, settings, agent, place, zone)
    names = file_names(session, run.started_at or run.queued_at, zone)
    caps = policies.file_caps(settings).within(resolved.spec.context_window)
    files = workspace_files(place, names, caps)
    return Part(
        model=resolved.model,
        spec=resolved.spec,
        reason=reason,
        system=system_text(
            agent.id, workspace=place.workspace, tools=tuple(tool.spec.name for tool in tools), files=files
        ),
        place=place,
        tools=tools,
        thinking=run.request.thinking or session.overrides.thinking,
        files=files,
        context=policies.context(settings),
        summariser=_summariser(settings, registry, name),
    )


def _tools_for(run: Run, settings: Settings, agent: Agent, place: Place, zone: tzinfo) -> tuple[Tool, ...]:
    """A run that saves notes may do nothing else."""
    if run.request.kind is RunKind.FLUSH:
        return (Read(), Notes(notes_file(run.queued_at, zone)))
    return _tools(settings, agent, place)


def _summariser(settings: Settings, registry: Registry, name: str) -> Voice:
    """Who condenses a context: the model that is configured for it, or the one that answers."""
    own = settings.agents.defaults.compaction
    resolved = registry.resolve(own.model or name)
    thinking = own.thinking_level if resolved.spec.reasoning else None
    return Voice(model=resolved.model, spec=resolved.spec, thinking=thinking)


def _model_for(agent: Agent, session: Session, run: Run) -> tuple[str, str]:
    """The model of a run and why; the first that is named."""
    named = (
        (run.request.model, "asked for by this run"),
        (session.overrides.model, "set on this session"),
        (agent.model.primary, f"the model of agent {agent.id}"),
    )
    return next(((name, why) for name, why in named if name), (str(DEMO.ref), "no model is configured"))


def _place(loaded: Loaded, agent: Agent, session: Session) -> Place:
    sandbox = agent.sandbox
    main = session.key.is_main(policies.routing_rules(loaded.settings).main_name)
    sandboxed = sandbox.mode is SandboxMode.ALL or (sandbox.mode is SandboxMode.NON_MAIN and not main)
    folder = Path(agent.workspace) if agent.workspace else loaded.sources.home / "workspace" / agent.id
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    access = sandbox.workspace_access if sandboxed else WorkspaceAccess.WRITE
    return Place(workspace=str(folder), access=access, sandboxed=sandboxed)


def _tools(settings: Settings, agent: Agent, place: Place) -> tuple[Tool, ...]:
    every: tuple[Tool, ...] = (
        Read(),
        Write(),
        Edit(),
        ListFiles(),
        Exec(Bubblewrap(), sandboxed=place.sandboxed),
    )
    policy = ToolPolicy(tools=_scope(settings.tools), agent=_scope(agent.tools), sandboxed=place.sandboxed)
    names = effective_tools((tool.spec.name for tool in every), policy).names
    return tuple(tool for tool in every if tool.spec.name in names)


def _scope(scope: ToolScope) -> Scope:
    return Scope(
        profile=scope.profile,
        allow=scope.allow,
        also_allow=scope.also_allow,
        deny=scope.deny,
    )
