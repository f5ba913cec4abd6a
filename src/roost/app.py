"""The composition root: the only module that names concrete adapters."""

import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from roost.clock import SystemClock
from roost.config import Loaded, Settings, configured_secrets, policies
from roost.config.agents import Agent, SandboxMode
from roost.config.casting import catalogue, persona
from roost.config.printed import printed
from roost.config.providers import ModelApi, ModelDefinition, Provider, ProviderAuth, thaw
from roost.config.secretfields import SecretCommand
from roost.config.tools import ToolScope
from roost.core.admission import ChannelPolicy
from roost.core.casting import cast
from roost.core.errors import ConfigInvalid, InvalidInput, NotFound
from roost.core.jsonl_messages import as_object
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelSpec
from roost.core.redaction import ExactValues
from roost.core.runs import Run
from roost.core.scheduling import Limits
from roost.core.secrets import Secret
from roost.core.sessions import Session
from roost.core.systemtext import system_text
from roost.core.toolpolicy import Removed, Scope, ToolPolicy, effective_tools
from roost.core.tools import Place, WorkspaceAccess
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.leasing import holding
from roost.engine.rules import Answerer, CommandRules, House, Part, Rules
from roost.logs import logging_to
from roost.models import openai
from roost.models.demo import SPEC as DEMO
from roost.models.demo import DemoModel
from roost.models.endpoints import IDLE_MS, Endpoint, KeyAs
from roost.models.openai import OpenAIModel
from roost.models.openai_wire import dialect_of
from roost.models.registry import Registry
from roost.models.retry import RetryingModel
from roost.ports import Channel, Clock, Model, SecretScanner, Store, Tool
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.scanners.stdlib import StdlibScanner
from roost.stores.sqlite import SqliteStore
from roost.tools.access import Access
from roost.tools.agents_list import AgentsList, KnownAgent
from roost.tools.edit import Edit
from roost.tools.exec import Exec
from roost.tools.list_files import ListFiles
from roost.tools.read import Read
from roost.tools.session_status import Models, SessionStatus
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_list import SessionsList
from roost.tools.sessions_search import SessionsSearch
from roost.tools.write import Write
from roost.transfer.exports import export_to
from roost.transfer.paths import transcript_path

if TYPE_CHECKING:
    from roost.models.library.model import HostedModel, Wire

CEILING = 64

HostedApi: TypeAlias = Literal[
    ModelApi.OPENAI_RESPONSES, ModelApi.ANTHROPIC_MESSAGES, ModelApi.GOOGLE_GENERATIVE_AI, ModelApi.OLLAMA
]


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
async def open_held_store(loaded: Loaded, gateway: Gateway) -> AsyncIterator[Store]:
    """The store under its lease, without anything that works on it: no gateway may serve meanwhile."""
    clock = SystemClock()
    async with open_store(loaded, clock) as store, holding(store, clock, gateway):
        yield store


@asynccontextmanager
async def open_engine(
    loaded: Loaded, channels: Sequence[Channel], doors: Mapping[str, ChannelPolicy], *, version: str = ""
) -> AsyncIterator[Engine]:
    """An engine over the configured store and models; `doors` are those of channels the file does not name, and
    `version` is what `/status` says."""
    clock = SystemClock()
    loaded = replace(loaded, settings=await printed(loaded.settings))
    async with open_store(loaded, clock) as store, _open_models(loaded.settings, clock) as registry:
        desk = _Desk(loaded, registry, store, clock)
        rules = replace(
            _rules(loaded, registry, doors, desk.tools),
            commands=_command_rules(loaded, registry, store, version),
        )
        yield Engine(store, clock, FreshIds(clock), rules, channels, jitter=random.random)


@contextmanager
def logging_here(loaded: Loaded) -> Iterator[None]:
    """Warnings and errors go to the error output, without secrets."""
    with logging_to(sys.stderr, secret_scanner(loaded)):
        yield


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
    single: dict[ModelRef, Model] = {}
    async with AsyncExitStack() as stack:

        def reached(name: str, provider: Provider, own: ModelDefinition | None = None) -> Model:
            adapter = _adapter(name, provider, own, clock)
            stack.push_async_callback(adapter.aclose)
            return RetryingModel(adapter, clock)

        for name, provider in settings.models.providers.items():
            models[name] = reached(name, provider)
            for own in provider.models:
                if own.api or own.headers or own.params or own.compat:
                    single[ModelRef(name, own.id)] = reached(name, provider, own)
        yield Registry(catalogue(settings, DEMO), models, single)


def _adapter(
    name: str, provider: Provider, own: ModelDefinition | None, clock: Clock
) -> "OpenAIModel | HostedModel":
    api = (own.api if own else None) or provider.api
    if api is ModelApi.OPENAI_COMPLETIONS:
        endpoint = _endpoint(name, provider, own, openai.BASE_URL)
        compat = as_object(thaw(own.compat)) if own else {}
        return OpenAIModel(endpoint, clock, dialect_of(endpoint.base_url, compat))
    if find_spec("pydantic_ai") is None:
        raise ConfigInvalid(
            f"models.providers.{name} speaks `{api}`, which needs a part that is not installed",
            hint="pip install 'roost[providers]'",
        )
    from roost.models.library.model import HostedModel  # noqa: PLC0415 — takes longer to load than all else

    wire = _wire(api)
    return HostedModel(_endpoint(name, provider, own, wire.base_url), clock, wire)


def _wire(api: HostedApi) -> "Wire":
    """Each brings a library of its provider's, which only those load who need it."""
    match api:
        case ModelApi.OPENAI_RESPONSES:
            from roost.models.library.responses import RESPONSES  # noqa: PLC0415 — see above

            return RESPONSES
        case ModelApi.ANTHROPIC_MESSAGES:
            from roost.models.library.anthropic import ANTHROPIC  # noqa: PLC0415 — see above

            return ANTHROPIC
        case ModelApi.GOOGLE_GENERATIVE_AI:
            from roost.models.library.google import GOOGLE  # noqa: PLC0415 — see above

            return GOOGLE
        case ModelApi.OLLAMA:
            from roost.models.library.ollama import OLLAMA  # noqa: PLC0415 — see above

            return OLLAMA
        case _:
            assert_never(api)


def _endpoint(name: str, provider: Provider, own: ModelDefinition | None, usual: str) -> Endpoint:
    bearer = provider.auth_header or provider.auth is ProviderAuth.TOKEN
    headers = {**provider.headers, **(own.headers if own else {})}
    params = {**as_object(thaw(provider.params)), **as_object(thaw(own.params) if own else {})}
    return Endpoint(
        provider=name,
        base_url=provider.base_url or usual,
        key=_known(provider.api_key) if provider.api_key else None,
        key_as=KeyAs.BEARER if bearer else KeyAs.NATIVE,
        headers={header: _known(secret) for header, secret in headers.items()},
        params=params,
        idle_ms=1000 * provider.timeout_seconds if provider.timeout_seconds else IDLE_MS,
    )


def _known(secret: Secret | SecretCommand) -> Secret:
    assert isinstance(secret, Secret), "programs that print credentials were run before"
    return secret


# -- rules -------------------------------------------------------------------------------------------


SessionTools: TypeAlias = Callable[[Agent], tuple[Tool, ...]]


def _rules(
    loaded: Loaded, registry: Registry, doors: Mapping[str, ChannelPolicy], session_tools: SessionTools
) -> Rules:
    settings = loaded.settings
    configured = {channel: policies.channel_policy(settings, channel) for channel in settings.channels}
    lanes = policies.lane_limits(settings, os.cpu_count() or 1)
    return Rules(
        cast=lambda session, run: _cast(loaded, registry, session, run, session_tools),
        doors={**doors, **configured},
        routing=policies.routing_rules(settings),
        queue=policies.queue_policy(settings),
        resets=policies.reset_policy(settings),
        triggers=policies.extra_triggers(settings),
        sending=policies.send_policy(settings),
        limits=Limits(ceiling=CEILING, lanes=lanes),
        budgets=policies.budget_limits(settings),
        house=House(
            retention=policies.retention(settings),
            recovery_max_age_ms=settings.recovery.max_age.milliseconds,
        ),
    )


def _command_rules(loaded: Loaded, registry: Registry, store: Store, version: str) -> CommandRules:
    settings, scanner = loaded.settings, secret_scanner(loaded)
    catalogue = policies.model_catalogue(settings)

    async def export(key: SessionKey, raw: bool) -> tuple[str, ...]:
        return await export_to(loaded.sources.home / "exports", store, key, None if raw else scanner)

    return CommandRules(
        policy=policies.command_policy(settings),
        models=registry.catalogue,
        catalogue=replace(catalogue, refs=(*catalogue.refs, str(DEMO.ref))),
        agents=tuple(agent.id for agent in settings.agents.list),
        version=version,
        export=export,
        scanner=scanner,
    )


def _cast(loaded: Loaded, models: Registry, session: Session, run: Run, session_tools: SessionTools) -> Part:
    agent = _agent(loaded.settings, run.key)
    casting = cast(run.request, session, persona(agent, DEMO), models.catalogue)
    place = _place(loaded, agent, session)
    tools, removed = _tools(loaded.settings, agent, place, session_tools(agent))
    return Part(
        model=models.model(casting.player.spec),
        spec=casting.player.spec,
        reason=casting.reason,
        system=system_text(
            agent.id, workspace=place.workspace, tools=tuple(tool.spec.name for tool in tools)
        ),
        place=place,
        tools=tools,
        thinking=casting.player.thinking,
        removed=removed,
        fallbacks=tuple(
            Answerer(model=models.model(one.spec), spec=one.spec, thinking=one.thinking)
            for one in casting.fallbacks
        ),
    )


def _agent(settings: Settings, key: SessionKey) -> Agent:
    """Who plays a session; the one global session names nobody and is played by the default agent."""
    name = key.agent or settings.agents.default.id
    agent = next((one for one in settings.agents.list if one.id == name), None)
    if agent is None:
        raise NotFound(f"there is no agent {name}", hint="add it to `agents.list`")
    return agent


def _place(loaded: Loaded, agent: Agent, session: Session) -> Place:
    sandbox = agent.sandbox
    main = session.key.is_main(policies.routing_rules(loaded.settings).main_name)
    sandboxed = sandbox.mode is SandboxMode.ALL or (sandbox.mode is SandboxMode.NON_MAIN and not main)
    folder = Path(agent.workspace) if agent.workspace else loaded.sources.home / "workspace" / agent.id
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    access = sandbox.workspace_access if sandboxed else WorkspaceAccess.WRITE
    return Place(workspace=str(folder), access=access, sandboxed=sandboxed)


def _tools(
    settings: Settings, agent: Agent, place: Place, session_tools: tuple[Tool, ...]
) -> tuple[tuple[Tool, ...], tuple[Removed, ...]]:
    every: tuple[Tool, ...] = (
        Read(),
        Write(),
        Edit(),
        ListFiles(),
        Exec(Bubblewrap(), sandboxed=place.sandboxed),
        *session_tools,
    )
    policy = ToolPolicy(tools=_scope(settings.tools), agent=_scope(agent.tools), sandboxed=place.sandboxed)
    effective = effective_tools((tool.spec.name for tool in every), policy)
    return tuple(tool for tool in every if tool.spec.name in effective.names), effective.removed


class _Desk:
    """Makes the session tools of an agent."""

    def __init__(self, loaded: Loaded, registry: Registry, store: Store, clock: Clock) -> None:
        self._loaded = loaded
        self._settings = loaded.settings
        self._registry = registry
        self._store = store
        self._clock = clock
        self._scanner = secret_scanner(loaded)

    def tools(self, agent: Agent) -> tuple[Tool, ...]:
        access = Access(self._store, self._clock, policies.session_reach(self._settings, agent))
        return (
            SessionsList(access, self._scanner, self._transcript_path),
            SessionsHistory(access, self._scanner),
            SessionsSearch(access, self._scanner),
            SessionStatus(access, Models(find=self._model, of_agent=self._model_of)),
            AgentsList(policies.delegation(agent), map(_known_agent, self._settings.agents.list)),
        )

    def _model(self, name: str) -> ModelSpec:
        return self._registry.catalogue.ask_for(name)

    def _model_of(self, agent: str) -> str:
        known = (one.model.primary for one in self._settings.agents.list if one.id == agent)
        return next(known, None) or str(DEMO.ref)

    def _transcript_path(self, session: Session) -> str | None:
        agent = session.key.agent or self._settings.agents.default.id
        folder = self._loaded.transcript_folder(agent)
        if folder is None:
            return None
        try:
            return str(transcript_path(folder, session.session_id, session.key.topic))
        except InvalidInput:
            # A topic that cannot be part of a file's name.
            return None


def _known_agent(agent: Agent) -> KnownAgent:
    return KnownAgent(id=agent.id, name=agent.name, model=agent.model.primary)


def _scope(scope: ToolScope) -> Scope:
    return Scope(
        profile=scope.profile,
        allow=scope.allow,
        also_allow=scope.also_allow,
        deny=scope.deny,
    )
